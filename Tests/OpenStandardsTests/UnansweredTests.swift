#if Programs
import Foundation
import Handstamp
import HandstampCore
import HandstampOAuth
import HandstampTesting
import HandstampTransports
import HandstampVaults
import Testing

/// Programs whose refresh request gets no response, at a server that does not know Handstamp.
@Suite(.timeLimit(.minutes(10))) struct `A refresh without an answer` {
  private struct Fixture {
    let server: IndependentServer
    let folder: String
    /// The token has expired by then.
    let offset = "700"

    static func run(_ options: [String], _ body: @Sendable (Fixture) async throws -> Void) async throws {
      let folder = NSTemporaryDirectory() + "handstamp-unanswered-\(UInt64.random(in: 0 ... .max))"
      defer { try? FileManager.default.removeItem(atPath: folder) }
      try await IndependentServer.run(options) { server async throws in
        let fixture = Fixture(server: server, folder: folder)
        let backend = OAuthBackend(OAuthClient(issuer: server.url, id: "app"), transport: AsyncHTTPTransport.shared)
        let vault = SealedFileVault(folder: folder, account: AccountID("user-1"))
        let controller = SessionController(
          backend: backend, vault: vault, policy: SessionPolicy(refresh: RefreshPolicy(usesTimer: false)))
        try await controller.signIn(at: backend)
        try await body(fixture)
      }
    }

    /// A program that asks for a token and waits that many milliseconds for a response.
    func probe(limit: Int, stops: Bool = false) throws -> Probe {
      try Probe([server.url, folder, offset, "0", "\(limit)"] + (stops ? ["stop"] : []))
    }

    private func get(_ path: String) async throws -> Any {
      let answer = try await AsyncHTTPTransport.shared.send(TransportRequest(method: "GET", url: server.url + path))
      return answer.body.isEmpty ? [] : try JSONSerialization.jsonObject(with: Data(answer.body))
    }

    func count(_ name: String) async throws -> Int {
      try #require((try await get("/counts") as? [String: Int])?[name])
    }

    /// The times at which refresh tokens were presented, in seconds.
    func presented() async throws -> [Double] {
      try #require(try await get("/presented") as? [[String: Any]]).compactMap { $0["at"] as? Double }
    }

    /// Returns once the server is processing a refresh.
    func refreshIsUnderWay() async throws {
      #expect(try await eventually { try await count("inTheAir") != 0 })
    }

    /// Lets that much time pass at the server.
    func pass(seconds: Double) async throws { _ = try await get("/after/\(seconds)") }
  }

  @Test func `of a killed program is repeated after a pause, long before its limit`() async throws {
    try await Fixture.run(["--hold"]) { fixture in
      let first = try fixture.probe(limit: 600_000)
      try await fixture.refreshIsUnderWay()
      first.send(SIGKILL)
      _ = await first.outcome()
      try await fixture.server.release()
      let second = await (try fixture.probe(limit: 600_000)).outcome()
      #expect(second.status == 0, "\(second.words)")
      let times = try await fixture.presented()
      #expect(times.count == 2)
      #expect(times[1] - times[0] < 590)
    }
  }

  @Test func `that was carried out but answered with 500 is repeated after a pause`() async throws {
    try await Fixture.run(["--broken", "1"]) { fixture in
      let outcome = await (try fixture.probe(limit: 600_000)).outcome()
      #expect(outcome.status == 0, "\(outcome.words)")
      let times = try await fixture.presented()
      #expect(times.count == 2)
      #expect(times[1] - times[0] > 0.9 && times[1] - times[0] < 590)
    }
  }

  /// The response arrives when the program continues, so that only the limit's clock decides.
  @Test func `is still awaited by a program that was stopped for longer than its limit`() async throws {
    try await Fixture.run(["--rotate", "--delay", "6.5"]) { fixture in
      let probe = try fixture.probe(limit: 5000, stops: true)
      #expect(await eventually { LockHolder.isStopped(probe.id) })
      try await fixture.pass(seconds: 5.5)
      probe.send(SIGCONT)
      let outcome = await probe.outcome()
      #expect(outcome.status == 0, "\(outcome.words)")
      #expect(try await fixture.presented().count == 1)
      // The successor is in the vault: a strict server accepts it.
      let next = try await Probe.run([fixture.server.url, fixture.folder, "1400", "0"])
      #expect(next.status == 0, "\(next.words)")
      #expect(try await fixture.count("refused") == 0)
    }
  }
}
#endif
