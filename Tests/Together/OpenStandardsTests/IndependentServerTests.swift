#if Programs
import Foundation
import Handstamp
import HandstampOAuth
import HandstampTesting
import HandstampTransports
import Testing

/// Our client, as used in an app, and Authlib's server.
@Suite(.timeLimit(.minutes(10))) struct `A third-party OAuth server` {
  private struct Fixture {
    let server: IndependentServer
    let backend: OAuthBackend
    let controller: SessionController
    let vault = MemoryVault()
    let clock = ManualClock()

    init(_ server: IndependentServer, client: String = "app", secret: Secret? = nil) {
      self.server = server
      backend = OAuthBackend(
        OAuthClient(issuer: server.url, id: client, secret: secret, scopes: ["openid", "profile"]),
        transport: AsyncHTTPTransport.shared)
      controller = SessionController(backend: backend, vault: vault, clock: clock)
    }

    /// A browser whose user consents to everything.
    func signIn() async throws {
      let receiver = try await LoopbackReceiver.listen { page in
        let answer = try? await AsyncHTTPTransport.shared.send(TransportRequest(method: "GET", url: page))
        if let back = answer?.header("Location") {
          _ = try? await AsyncHTTPTransport.shared.send(TransportRequest(method: "GET", url: back))
        }
      }
      let backend = backend
      _ = try await controller.signIn { () async throws(SessionError) in
        try await backend.signIn(through: receiver, redirectURI: receiver.redirectURI)
      }
      await receiver.close()
    }

    func get(_ path: String, token: AccessToken? = nil) async throws -> TransportResponse {
      let headers = token.map { [HeaderField("Authorization", $0.secret.withExposed { "Bearer " + $0 })] } ?? []
      return try await AsyncHTTPTransport.shared.send(
        TransportRequest(method: "GET", url: server.url + path, headers: headers))
    }

    func count(_ name: String) async throws -> Int? {
      let object = try JSONSerialization.jsonObject(with: Data(try await get("/counts").body))
      return (object as? [String: Int])?[name]
    }
  }

  @Test(arguments: [[], ["--rotate"]])
  func `supports browser sign-in, requests, refresh and revocation`(_ options: [String]) async throws {
    try await IndependentServer.run(options) { server async throws in
      let fixture = Fixture(server)
      try await fixture.signIn()
      guard case .signedIn(let facts) = fixture.controller.state else {
        Issue.record("not signed in")
        return
      }
      #expect(facts.profile == Profile(id: AccountID("user-1"), name: "Ada Lovelace"))
      let first = try await fixture.controller.token()
      #expect(try await fixture.get("/me", token: first).status == 200)
      var last = first
      for _ in 0..<3 {
        fixture.clock.advance(by: .seconds(601))
        let next = try await fixture.controller.token()
        #expect(next != last)
        #expect(try await fixture.get("/me", token: next).status == 200)
        last = next
      }
      #expect(try await fixture.count("refresh") == 3)
      let report = await fixture.controller.signOut()
      #expect(report.storageError == nil)
      #expect(await fixture.controller.waitForRevocations(timeout: .seconds(60)))
      #expect(try await fixture.count("revoke") == 1)
      #expect(try await fixture.get("/me", token: last).status == 401)
    }
  }

  @Test func `accepts the secret of a confidential client`() async throws {
    try await IndependentServer.run { server async throws in
      let fixture = Fixture(server, client: "service", secret: Secret("s3cret-without_specials"))
      try await fixture.signIn()
      fixture.clock.advance(by: .seconds(601))
      let token = try await fixture.controller.token()
      #expect(try await fixture.get("/me", token: token).status == 200)
      let wrong = Fixture(server, client: "service", secret: Secret("another"))
      await #expect(throws: (any Error).self) { try await wrong.signIn() }
    }
  }

  @Test func `signs in with a device code, polled more slowly on request`() async throws {
    try await IndependentServer.run { server async throws in
      let waits = Gathered<Duration>()
      let (shown, show) = AsyncStream.makeStream(of: DeviceCode.self)
      let backend = OAuthBackend(
        OAuthClient(issuer: server.url, id: "app", scopes: ["profile"]), transport: AsyncHTTPTransport.shared,
        time: OAuthTime(now: { UnixTime(seconds: 0) }) { wait in
          // The user consents during the fourth wait.
          guard waits.add(wait) == 4 else { return }
          for await code in shown {
            _ = try await AsyncHTTPTransport.shared.send(
              TransportRequest(
                method: "POST", url: server.url + "/device",
                headers: [HeaderField("Content-Type", "application/x-www-form-urlencoded")],
                body: Array("user_code=\(code.userCode)&allow=yes".utf8)))
            return
          }
        })
      let grant = try await backend.signInOnAnotherDevice { show.yield($0) }
      #expect(grant.tokens.refresh != nil)
      #expect(waits.all == [.seconds(1), .seconds(1), .seconds(6), .seconds(6)])
    }
  }

  @Test(arguments: [["--rotate"], ["--replace"], []])
  func `gets one refresh from forty controllers that share a vault`(_ options: [String]) async throws {
    try await IndependentServer.run(options) { server async throws in
      let fixture = Fixture(server)
      try await fixture.signIn()
      fixture.clock.advance(by: .seconds(601))
      let others = (0..<40).map { _ in
        SessionController(backend: fixture.backend, vault: fixture.vault, clock: fixture.clock)
      }
      let tokens = try await withThrowingTaskGroup(of: AccessToken.self) { group in
        for other in others { group.addTask { try await other.token() } }
        return try await group.reduce(into: Set<AccessToken>()) { $0.insert($1) }
      }
      #expect(tokens.count == 1)
      for token in tokens { #expect(try await fixture.get("/me", token: token).status == 200) }
      #expect(try await fixture.count("refresh") == 1)
      #expect(try await fixture.count("refused") == 0)
    }
  }

  @Test func `ends the session only when it revokes it`() async throws {
    try await IndependentServer.run(["--rotate"]) { server async throws in
      let fixture = Fixture(server)
      try await fixture.signIn()
      guard case .value(let entry) = await fixture.vault.read(), let handle = entry.session?.revocation else {
        Issue.record("no handle")
        return
      }
      #expect(await fixture.backend.revoke(handle) == .ended)
      fixture.clock.advance(by: .seconds(601))
      // The session's own timer may have sent the request first.
      do throws(SessionError) {
        _ = try await fixture.controller.token()
        Issue.record("a revoked session returned a token")
      } catch {
        #expect([.sessionEnded(.rejected), .signedOut(.rejected)].contains(error))
      }
    }
  }
}
#endif
