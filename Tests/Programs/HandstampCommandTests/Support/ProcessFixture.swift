#if Programs
import Foundation
import Handstamp
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// All tests that start processes, one at a time in a process that tests: each of them starts several.
@Suite(.serialized, .timeLimit(.minutes(30))) enum Processes {}

/// A real server in its own process, behind a network that tests can hold up, and folders for devices.
enum ProcessFixture {
  static func run(
    accessTokenLife: String = "10m", limit: Duration = .seconds(1200),
    _ body: @escaping @Sendable (TourFixture) async throws -> Void
  ) async throws {
    try await ProcessFixture.inFolder { folder in
      try FileManager.default.createDirectory(atPath: folder + "/logs", withIntermediateDirectories: true)
      let server = ServerProcess(folder: folder + "/server", logs: folder + "/logs")
      defer { server.abandon() }
      let proxy = Proxy()
      let carrying = Task { try await proxy.run() }
      defer { carrying.cancel() }
      let address = try await within(.seconds(240), "the wire") { try await proxy.address.value() }
      proxy.lead(to: try await server.start(accessTokenLife: accessTokenLife))
      let stage = TourFixture(
        folder: folder, server: server, proxy: proxy, address: try ServerAddress(parsing: address))
      try await within(limit, "the test") { try await body(stage) }
    }
  }

  /// Runs `body` with a temporary folder.
  static func inFolder(_ body: (String) async throws -> Void) async throws {
    let folder = NSTemporaryDirectory() + "handstamp-test-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await body(folder)
  }

  /// Returns the status of a GET request.
  static func status(of address: String) async throws -> Int {
    try await URLSessionTransport().send(TransportRequest(method: "GET", url: address)).status
  }

  /// Runs the program that has the command until it ends.
  static func handstamp(
    _ arguments: [String], home: String, input: String = "", variables: [String: String] = [:]
  ) async throws -> Child.Outcome {
    let child = try Child(arguments, variables: variables.merging(["HANDSTAMP_HOME": home]) { $1 }, input: input)
    return try await within(.seconds(240), arguments.joined(separator: " ")) { try await child.outcome() }
  }
}

extension TourFixture {
  /// Creates the account and signs in on `home`.
  func signUp(_ home: Home) async throws {
    try await run(["signup", email, "--server", address.text], on: home, input: password + "\n")
  }

  /// The access token in the vault.
  func storedToken(of home: Home) async throws -> String {
    let token = try #require(try await session(of: home).access?.token)
    return token.secret.withExposed { $0 }
  }
}

/// Checks a refusal: its status, its code if the command prints JSON, a hint, empty stdout, no capitals and no full stops.
///
/// - Parameters:
///   - code: The stable code, of a command with `--json`; `nil` without.
///   - part: What the message names: an argument, an address, a file.
func expectRefusal(
  _ outcome: Child.Outcome, _ status: ExitReason, code: String? = nil, naming part: String = "", hint: String,
  sourceLocation: SourceLocation = #_sourceLocation
) throws {
  #expect(outcome.status == status.rawValue, "\(outcome.words)", sourceLocation: sourceLocation)
  #expect(outcome.out.isEmpty, "messages must not go to stdout", sourceLocation: sourceLocation)
  if let code {
    return try expectJSONRefusal(
      outcome, status, code: code, naming: part, hint: hint, sourceLocation: sourceLocation)
  }
  let lines = outcome.words.split(separator: "\n")
  let message = lines.first { $0.hasPrefix(outcome.program + ": ") } ?? ""
  let advice = lines.last { $0.hasPrefix("hint: ") } ?? ""
  #expect(part.isEmpty || message.contains(part), "\(outcome.words)", sourceLocation: sourceLocation)
  #expect(
    !advice.isEmpty && (hint.isEmpty || advice.contains(hint)), "\(outcome.words)", sourceLocation: sourceLocation)
  for line in [message, advice] {
    #expect(!line.hasSuffix("."), "\(line)", sourceLocation: sourceLocation)
    let first = line.drop { $0 != " " }.dropFirst().first
    #expect(first?.isUppercase != true || line.contains("HANDSTAMP_"), "\(line)", sourceLocation: sourceLocation)
  }
}

/// Expects the refusal that a command with `--json` prints as its last line on stderr.
func expectJSONRefusal(
  _ outcome: Child.Outcome, _ status: ExitReason, code: String, naming part: String = "", hint: String,
  sourceLocation: SourceLocation = #_sourceLocation
) throws {
  #expect(outcome.status == status.rawValue, "\(outcome.words)", sourceLocation: sourceLocation)
  let last = try #require(outcome.words.split(separator: "\n").last, sourceLocation: sourceLocation)
  let document = try object(last + "\n")
  #expect(document["schemaVersion"] as? Int == 1, sourceLocation: sourceLocation)
  let error = try #require(document["error"] as? [String: Any], sourceLocation: sourceLocation)
  #expect(error["code"] as? String == code, "\(last)", sourceLocation: sourceLocation)
  #expect(error["exitStatus"] as? Int32 == status.rawValue, "\(last)", sourceLocation: sourceLocation)
  let (message, advice) = (error["message"] as? String ?? "", error["hint"] as? String ?? "")
  #expect(
    (part.isEmpty || message.contains(part)) && !message.hasSuffix("."), "\(last)", sourceLocation: sourceLocation)
  #expect(
    !advice.isEmpty && (hint.isEmpty || advice.contains(hint)) && !advice.hasSuffix("."), "\(last)",
    sourceLocation: sourceLocation)
}

/// Parses one line of JSON as an object.
func object(_ text: String) throws -> [String: Any] {
  #expect(text.hasSuffix("\n") && text.dropLast().allSatisfy { !$0.isNewline }, "one line: \(text)")
  return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
}
#endif
