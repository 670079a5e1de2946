#if Programs
import Foundation
import Handstamp
import HandstampOAuth
import HandstampTransports

/// A run of `SessionProbe`.
final class Probe: Sendable {
  private let process = Process()
  private let words = Pipe()
  private let ends: AsyncStream<Void>
  var id: Int32 { process.processIdentifier }

  static let path = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    .deletingLastPathComponent().appendingPathComponent("SessionProbe").path

  /// - Parameters:
  ///   - arguments: as documented in the probe.
  ///   - program: another program, which starts the probe.
  init(_ arguments: [String], program: String = Probe.path) throws {
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.standardOutput = FileHandle.nullDevice
    process.standardError = words
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    self.ends = ends
    process.terminationHandler = { _ in end.finish() }
    try process.run()
  }

  static func run(_ arguments: [String]) async throws -> (status: Int32, words: String) {
    await (try Probe(arguments)).outcome()
  }

  func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

  func outcome() async -> (status: Int32, words: String) {
    for await _ in ends {}
    return (process.terminationStatus, String(decoding: words.fileHandleForReading.availableData, as: UTF8.self))
  }
}

extension SessionController {
  /// Signs in at an ``IndependentServer``, whose user consents to everything.
  func signIn(at backend: OAuthBackend) async throws {
    let receiver = try await LoopbackReceiver.listen { page in
      let answer = try? await AsyncHTTPTransport.shared.send(TransportRequest(method: "GET", url: page))
      guard let back = answer?.header("Location") else { return }
      _ = try? await AsyncHTTPTransport.shared.send(TransportRequest(method: "GET", url: back))
    }
    try await signIn { () async throws(SessionError) in
      try await backend.signIn(through: receiver, redirectURI: receiver.redirectURI)
    }
    await receiver.close()
  }
}
#endif
