#if Programs
import Foundation
import Handstamp
import HandstampOAuth
import HandstampTransports
import Testing

/// Programs that exit while a refresh is in flight, at a server that accepts every refresh token once.
@Suite(.timeLimit(.minutes(10))) struct `A program that exits` {
  @Test func `loses no session by returning from main right after getting a token`() async throws {
    let folder = NSTemporaryDirectory() + "handstamp-exit-\(UInt64.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let runs = ProcessInfo.processInfo.environment["HANDSTAMP_DEEP"] == nil ? 25 : 1_000
    try await IndependentServer.run(["--rotate", "--delay", "0.05"]) { server async throws in
      let vault = SealedFileVault(folder: folder, account: AccountID("user-1"))
      let backend = OAuthBackend(OAuthClient(issuer: server.url, id: "app"), transport: AsyncHTTPTransport.shared)
      // By this program's clock, the tokens of later programs come from the future.
      let controller = SessionController(
        backend: backend, vault: vault, policy: SessionPolicy(refresh: RefreshPolicy(usesTimer: false)))
      try await controller.signIn(at: backend)

      // Each program asks while the token is valid but due for a refresh: between 480 and 600 s of its lifetime.
      var (offset, count) = (0, 0)
      // A connection takes some 10 ms, and the response 50 ms.
      var most = 80
      while true {
        offset += Int.random(in: 490...590)
        let outcome = try await Probe.run([server.url, folder, "\(offset)", "\(Int.random(in: 0...most))"])
        #expect(outcome.status == 0, "\(outcome.words)")
        count += 1
        guard count.isMultiple(of: runs) else { continue }
        let counts = try await AsyncHTTPTransport.shared.send(
          TransportRequest(method: "GET", url: server.url + "/counts"))
        let object = try JSONSerialization.jsonObject(with: Data(counts.body)) as? [String: Int]
        #expect(object?["refused"] == 0)
        // A program that exits before it has sent a request leaves the refresh to the next one. On a busy machine most of them do, unless
        // they work for longer.
        if object?["refresh"] ?? 0 >= runs / 2 { break }
        most *= 2
      }
      let last = try await Probe.run([server.url, folder, "\(offset + 1_000)", "0"])
      #expect(last.status == 0, "\(last.words)")
    }
  }

  @Test func `loses no session by returning from main while requesting a token for another API`() async throws {
    let folder = NSTemporaryDirectory() + "handstamp-exit-\(UInt64.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await IndependentServer.run(["--rotate", "--delay", "1"]) { server async throws in
      let vault = SealedFileVault(folder: folder, account: AccountID("user-1"))
      let backend = OAuthBackend(OAuthClient(issuer: server.url, id: "app"), transport: AsyncHTTPTransport.shared)
      let controller = SessionController(
        backend: backend, vault: vault, policy: SessionPolicy(refresh: RefreshPolicy(usesTimer: false)))
      try await controller.signIn(at: backend)
      let scoped = try await Probe.run([server.url, folder, "0", "0", "60000", "scoped"])
      #expect(scoped.status == 0, "\(scoped.words)")
      let next = try await Probe.run([server.url, folder, "700", "0"])
      #expect(next.status == 0, "\(next.words)")
      let counts = try await AsyncHTTPTransport.shared.send(
        TransportRequest(method: "GET", url: server.url + "/counts"))
      let object = try JSONSerialization.jsonObject(with: Data(counts.body)) as? [String: Int]
      #expect(object?["refresh"] == 2)
      #expect(object?["refused"] == 0)
    }
  }
}
#endif
