#if Programs
import Foundation
import Handstamp
import HandstampAsyncHTTP
import HandstampCore
import HandstampLoopback
import HandstampOAuth
import HandstampVaults
import Testing

/// Programs that end while a refresh is in flight, at a server that takes every refresh token once.
@Suite struct `A program that ends` {
  @Test func `loses no session by returning from main right after it got a token`() async throws {
    let folder = NSTemporaryDirectory() + "handstamp-exit-\(UInt64.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let runs = ProcessInfo.processInfo.environment["HANDSTAMP_DEEP"] == nil ? 25 : 1_000
    try await IndependentServer.run(["--rotate", "--delay", "0.05"]) { server async throws in
      let vault = SealedFileVault(folder: folder, account: AccountID("user-1"))
      let backend = OAuthBackend(OAuthClient(issuer: server.url, id: "app"), transport: AsyncHTTPTransport.shared)
      // By its own clock the tokens of later programs come from the future.
      let controller = SessionController(
        vault: vault, backend: backend, policy: SessionPolicy(refresh: RefreshPolicy(aheadOfExpiry: false)))
      let receiver = try await LoopbackReceiver.listen { page in
        let answer = try? await AsyncHTTPTransport.shared.send(TransportRequest(method: "GET", url: page))
        guard let back = answer?.header("Location") else { return }
        _ = try? await AsyncHTTPTransport.shared.send(TransportRequest(method: "GET", url: back))
      }
      try await controller.signIn { () async throws(SessionError) in
        try await backend.signIn(through: receiver, redirectURI: receiver.redirectURI)
      }
      await receiver.close()

      // Each asks at a moment when the token still serves, and is to be replaced: between 480 and 600 s of its life.
      var offset = 0
      for _ in 0..<runs {
        offset += Int.random(in: 490...590)
        // It takes some 10 ms to a connection, and 50 ms to the answer.
        let outcome = try await Probe.run([server.url, folder, "\(offset)", "\(Int.random(in: 0...80))"])
        #expect(outcome.status == 0, "\(outcome.words)")
      }
      let counts = try await AsyncHTTPTransport.shared.send(
        TransportRequest(method: "GET", url: server.url + "/counts"))
      let object = try JSONSerialization.jsonObject(with: Data(counts.body)) as? [String: Int]
      #expect(object?["refused"] == 0)
      // A program that is gone before it has sent anything leaves the refresh to the next one.
      #expect(object?["refresh"] ?? 0 >= runs / 2)
      let last = try await Probe.run([server.url, folder, "\(offset + 1_000)", "0"])
      #expect(last.status == 0, "\(last.words)")
    }
  }
}

/// A run of `SessionProbe`.
private enum Probe {
  static func run(_ arguments: [String]) async throws -> (status: Int32, words: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
      .deletingLastPathComponent()
      .appendingPathComponent("SessionProbe")
    process.arguments = arguments
    process.standardOutput = FileHandle.nullDevice
    let words = Pipe()
    process.standardError = words
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    process.terminationHandler = { _ in end.finish() }
    try process.run()
    for await _ in ends {}
    return (process.terminationStatus, String(decoding: words.fileHandleForReading.availableData, as: UTF8.self))
  }
}
#endif
