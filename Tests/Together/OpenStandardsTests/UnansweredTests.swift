#if Programs
import Foundation
import Handstamp
import HandstampOAuth
import HandstampTesting
import HandstampTransports
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

    /// The same in a process namespace of its own, as in a container; it is killed with `unshare`.
    func probeApart(_ words: String...) throws -> Probe {
      let part = (getuid() == 0 ? [] : ["-r"]) + ["--pid", "--fork", "--kill-child", "--mount-proc", Probe.path]
      return try Probe(part + [server.url, folder, offset, "0", "600000"] + words, program: "/usr/bin/unshare")
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

  @Test(.enabled("needs process namespaces: unshare is not allowed here") { await Shell.mayPart() })
  func `of a program in another container is repeated once that has died, and not while it is stopped`() async throws {
    try await Fixture.run(["--overlap", "600"]) { fixture in
      let first = try fixture.probeApart("open")
      #expect(try await eventually { try await fixture.presented().count == 1 })
      // It waits without the refresh lock.
      let vault = SealedFileVault(folder: fixture.folder, account: AccountID("user-1"))
      let lock = try await vault.lock(.refresh, within: .seconds(240))
      let probe = try #require(
        Int32(try String(contentsOfFile: "/proc/\(first.id)/task/\(first.id)/children", encoding: .utf8).dropLast()))
      kill(probe, SIGSTOP)
      #expect(await eventually { LockHolder.isStopped(probe) })
      lock.unlock()
      let second = try fixture.probeApart()
      // The other one looks every two seconds.
      try await fixture.pass(seconds: 3.5)
      #expect(try await fixture.presented().count == 1)
      first.send(SIGKILL)
      let outcome = await second.outcome()
      #expect(outcome.status == 0, "\(outcome.words)")
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
