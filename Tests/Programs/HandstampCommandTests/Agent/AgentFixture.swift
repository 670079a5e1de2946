#if Programs
import Foundation
import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// A `handstamp agent` of the first device, and a folder without a vault, as in a container.
struct AgentFixture: Sendable {
  let stage: TourFixture
  let agent: Child
  let socket: String
  let log: String

  /// - Parameters:
  ///   - options: Of the agent, besides `--socket`.
  ///   - socket: The path of its socket; `nil` for one in the folder of the test.
  static func run(
    accessTokenLife: String = "10m", _ options: [String] = [], socket: String? = nil,
    _ body: @escaping @Sendable (AgentFixture) async throws -> Void
  ) async throws {
    try await ProcessFixture.run(accessTokenLife: accessTokenLife) { stage in
      try await stage.signUp(stage.first)
      let fixture = try await stage.agent(options, at: socket ?? stage.folder + "/run/agent.sock")
      try await body(fixture)
    }
  }

  /// Runs `handstamp` where there is no vault.
  func handstamp(_ arguments: String..., input: String = "") async throws -> Child.Outcome {
    try await ProcessFixture.handstamp(
      arguments, home: home, input: input, variables: ["HANDSTAMP_AGENT": socket])
  }

  /// The home of the container, which is never made.
  var home: String { stage.folder + "/container" }

  /// Returns the answer to a request, as curl gives it.
  func curl(_ path: String = "/token") async throws -> (status: Int, text: String) {
    let outcome = try await OtherProgram.run(
      ["curl", "-sS", "--max-time", "60", "-w", "\n%{http_code}", "--unix-socket", socket, "http://agent" + path])
    let lines = outcome.out.split(separator: "\n", omittingEmptySubsequences: false)
    return (Int(lines.last ?? "") ?? 0, lines.dropLast().joined(separator: "\n"))
  }

  func token() async throws -> String {
    let answer = try await curl()
    #expect(answer.status == 200, "\(answer.text)")
    return try #require(try object(answer.text + "\n")["token"] as? String)
  }

  /// The text that the agent has written to stderr.
  var words: String { String(decoding: FileManager.default.contents(atPath: log) ?? Data(), as: UTF8.self) }

  /// The permissions of a file.
  static func mode(of path: String) throws -> Int {
    let facts = try FileManager.default.attributesOfItem(atPath: path)
    return try #require(facts[.posixPermissions] as? Int)
  }
}

extension TourFixture {
  /// Starts an agent of the first device, and waits until it answers.
  func agent(_ options: [String] = [], at socket: String) async throws -> AgentFixture {
    let log = folder + "/agent-\(UInt32.random(in: 0 ... .max)).log"
    let agent = try Child(
      ["agent", "--socket", socket] + options, variables: ["HANDSTAMP_HOME": first.path], input: "", log: log)
    let fixture = AgentFixture(stage: self, agent: agent, socket: socket, log: log)
    let line = try await within(.seconds(240), "the agent's start") { try await agent.line() }
    #expect(line == socket, "\(fixture.words)")
    return fixture
  }
}

/// A program of another package.
enum OtherProgram {
  static func run(_ words: [String], variables: [String: String] = [:]) async throws -> (status: Int32, out: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = words
    process.environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }
    let output = Pipe()
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = output
    try Child.withUsualSignals { try process.run() }
    return await Blocking.run {
      let bytes = output.fileHandleForReading.readDataToEndOfFile()
      process.waitUntilExit()
      return (process.terminationStatus, String(decoding: bytes, as: UTF8.self))
    }
  }
}

/// A client that sends bytes to a Unix domain socket, as they are.
enum UnixClient {
  /// Returns all that comes back until the connection ends, or 20 s pass.
  static func send(_ bytes: [UInt8], to path: String) async -> String {
    await Blocking.run { exchange(bytes, path) }
  }

  private static func exchange(_ bytes: [UInt8], _ path: String) -> String {
    let connection = socket(AF_UNIX, PlainClient.stream, 0)
    defer { close(connection) }
    var limit = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    let isConnected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(connection, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    guard isConnected else { return "not connected: \(errno)" }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { break }
      rest = rest.dropFirst(count)
    }
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = recv(connection, &buffer, buffer.count, 0)
      guard count > 0 else { return String(decoding: answer, as: UTF8.self) }
      answer += buffer.prefix(count)
    }
  }
}
#endif
