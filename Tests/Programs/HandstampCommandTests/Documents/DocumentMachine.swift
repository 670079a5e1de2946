#if Programs
import Foundation
import HTTPTypes
import HandstampHTTP
import HandstampSupport
import HandstampTesting
import HandstampTransports
import Hummingbird
import Logging
import NIOCore
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// A machine with a server, on which the commands of one document are run.
struct DocumentMachine: Sendable {
  /// The result of a block.
  struct Outcome: Sendable {
    var out: String
    var words: String
  }

  /// The result of a document.
  struct Run: Sendable {
    var status: Int32
    /// The number of the last block that began; `nil` after the last one.
    var last: Int?
    var outcomes: [Int: Outcome]
  }

  /// Programs that only record how they are called, and expect a token where one is promised.
  private static let recorded = [
    "recorder", "apt-get", "docker", "podman", "ssh", "claude", "npm", "cargo", "mvn", "aws", "terraform", "gcloud",
    "vault", "rclone", "pip", "uv", "twine", "psql", "useradd", "a2enmod", "a2dissite", "a2ensite", "loginctl",
  ]
  /// Programs that the stage has instead of others, or before them.
  private static let staged = [
    "handstamp", "handstamp-server", "curl", "systemctl", "journalctl", "browser", "session", "last",
  ]

  /// The folder that stands for the root of the file system.
  let root: String

  static func run(_ blocks: [DocumentBlock]) async throws -> Run {
    try await places.hold {
      let world = try await worlds.current()
      var run: Run?
      try await ProcessFixture.inFolder { folder in
        let machine = DocumentMachine(root: folder + "/machine")
        try FileManager.default.copyItem(atPath: world.folder + "/machine", toPath: machine.root)
        run = try await DocumentService.run { service in try await machine.run(blocks, world, service) }
      }
      return try #require(run)
    }
  }

  private func run(_ blocks: [DocumentBlock], _ world: World, _ service: Int) async throws -> Run {
    let text = blocks.map { block in
      let plan = block.plan
      return ["block \(block.number)", plan?.before ?? "", block.script, plan?.after ?? ""].joined(separator: "\n")
    }
    let status = try await bash(
      "document", "settle\n" + text.joined(separator: "\n") + "\nrm \"$R/block\"\n", world, service)
    var run = Run(status: status, last: read("block").flatMap { Int($0.dropLast()) }, outcomes: [:])
    for block in blocks {
      run.outcomes[block.number] = Outcome(
        out: read("out/\(block.number)") ?? "", words: read("out/\(block.number).words") ?? "")
    }
    return run
  }

  func read(_ path: String) -> String? {
    FileManager.default.contents(atPath: root + "/" + path).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Runs a script after the stage's own. Returns its status.
  fileprivate func bash(_ name: String, _ script: String, _ world: World?, _ service: Int) async throws -> Int32 {
    let stage = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("stage.bash").path
    let bin = root + "/bin"
    try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: true)
    for name in Self.recorded + Self.staged {
      try? FileManager.default.createSymbolicLink(atPath: "\(bin)/\(name)", withDestinationPath: stage)
    }
    let (port, back) = (try FreePort.find(), try FreePort.find())
    let values = [
      "PORT": "\(port)", "BACK": "\(back)", "ISSUER": "http://localhost:\(port)",
      "SERVICE": "http://127.0.0.1:\(service)/at/\(port)",
    ]
    // Also in single quotes.
    let text = values.reduce(script) { $0.replacing("$" + $1.key, with: $1.value) }
    try (". \"$STAGE\"\n" + text).write(toFile: root + "/" + name, atomically: true, encoding: .utf8)
    let input = Pipe()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    // It ends by itself, with what it has started.
    process.arguments = ["timeout", "-k", "5", "240", "bash", root + "/" + name]
    process.environment = [
      "PATH": bin + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": root + "/home", "LC_ALL": "C.UTF-8",
      "R": root, "STAGE": stage, "WORLD": (world?.folder ?? "") + "/machine",
      "REAL": URL(fileURLWithPath: try Child.path()).deletingLastPathComponent().path,
      "KIT": DocumentBlock.root.appendingPathComponent("Tests/Live").path,
      "BROWSER": bin + "/browser", "PASSWORD": "correct horse battery",
      "ADMIN_TOKEN": String(repeating: "0123456789abcdef", count: 2),
    ].merging(values) { $1 }
    process.standardInput = input
    process.standardOutput = FileHandle.nullDevice
    let log = root + "/words"
    _ = FileManager.default.createFile(atPath: log, contents: nil)
    process.standardError = FileHandle(forWritingAtPath: log)
    let ended = OneShot<Int32>()
    process.terminationHandler = { ended.set($0.terminationStatus) }
    try Child.withUsualSignals { try process.run() }
    // The servers that it has started end with their input.
    defer { try? input.fileHandleForWriting.close() }
    return try await ended.value()
  }

  /// The first state of every machine: accounts with sessions, and a backup. Removed after the last use.
  final class World: Sendable {
    let folder = NSTemporaryDirectory() + "handstamp-world-\(UInt64.random(in: 0 ... .max))"

    init() async throws {
      let machine = DocumentMachine(root: folder + "/machine")
      try FileManager.default.createDirectory(atPath: machine.root + "/work", withIntermediateDirectories: true)
      let status = try await machine.bash("world", "world", nil, 0)
      guard status == 0 else { throw TourFailure("no world: \(machine.read("words") ?? "")") }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }
  }

  /// Makes a world when there is none.
  private actor Worlds {
    private weak var world: World?
    private var making: Task<World, any Error>?

    func current() async throws -> World {
      if let world { return world }
      let task = making ?? Task { try await World() }
      making = task
      let made = try await task.value
      (world, making) = (made, nil)
      return made
    }
  }

  /// As many documents run at a time.
  private actor Places {
    private var free = 4
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func hold<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
      if free > 0 { free -= 1 } else { await withCheckedContinuation { waiting.append($0) } }
      defer { if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() } }
      return try await body()
    }
  }

  private static let worlds = Worlds()
  private static let places = Places()
}

extension DocumentBlock {
  var plan: DocumentPlan? { DocumentPlan.plans[document]?.first { commands.hasPrefix($0.start) } }

  /// The block without what is left out; `nil` if that is all of it.
  var run: DocumentBlock? {
    var block = self
    for left in LeftOut.all[document] ?? [] {
      if left.isWhole, commands.hasPrefix(left.start) { return nil }
      if !left.isWhole {
        block.commands = block.commands.split(separator: "\n").filter { !$0.hasPrefix(left.start) }.joined(
          separator: "\n")
      }
    }
    return block
  }
}

/// The services of other hosts that want a token: APIs, an MCP server, an identity server that is left. The path has the port of the
/// document's server.
private struct DocumentService: HTTPResponder {
  static func run<Value>(_ body: (_ port: Int) async throws -> Value) async throws -> Value {
    let port = OneShot<Int>()
    let application = Application(
      responder: DocumentService(), server: .sturdyHTTP1(),
      configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { port.set($0.localAddress?.port ?? 0) },
      logger: Logger(label: "service") { _ in SwiftLogNoOpLogHandler() })
    let serving = Task { try await application.run() }
    defer { serving.cancel() }
    return try await body(try await port.value())
  }

  @concurrent func respond(to request: Hummingbird.Request, context: BasicRequestContext) async throws -> Response {
    let path = request.uri.path
    let origin = "http://" + (request.head.authority ?? "")
    let metadata = "/.well-known/oauth-protected-resource"
    let place = path.hasPrefix(metadata) ? String(path.dropFirst(metadata.count)) : path
    let issuer = "http://localhost:\(place.split(separator: "/").dropFirst().first ?? "")"
    if path.hasPrefix(metadata) {
      return answer(#"{"resource":"\#(origin)\#(place)","authorization_servers":["\#(issuer)"]}"#)
    }
    if path.hasSuffix("/identities") { return answer(#"[{"id":"7"}]"#) }
    if path.hasSuffix("/api/me") || path.hasSuffix("/identities/7") { return answer(#"{"id":"7"}"#) }
    let words = request.headers[.authorization]?.split(separator: " ").map(String.init) ?? []
    let basic = words.first == "Basic" ? words.last.flatMap { Data(base64Encoded: $0) } : nil
    let password = basic.map { String(decoding: $0, as: UTF8.self) }
    guard (password ?? words.last ?? "").contains("eyJ") else {
      return answer(
        "{}", .unauthorized, [.wwwAuthenticate: "Bearer resource_metadata=\"\(origin)\(metadata)\(place)\""])
    }
    return answer("{}")
  }

  private func answer(_ text: String, _ status: HTTPResponse.Status = .ok, _ more: HTTPFields = [:]) -> Response {
    Response(
      status: status, headers: [.contentType: "application/json"] + more,
      body: .init(byteBuffer: ByteBuffer(string: text)))
  }
}
#endif
