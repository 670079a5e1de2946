#if Programs
import Crypto
import Foundation
import Handstamp
import HandstampOAuth
import HandstampServer
import HandstampTesting
import HandstampTransports
import Testing

/// Our client and our server, using only the open standards.
@Suite(.timeLimit(.minutes(10))) struct `Our own OAuth client and server` {
  private struct Fixture {
    let server: OwnServer
    let backend: OAuthBackend
    let controller: SessionController
    let vault = MemoryVault()
    let clock = ManualClock()
    let transport: any Transport

    init(_ server: OwnServer, prover: DPoPProver? = nil, time: OAuthTime = .system) {
      self.server = server
      transport = prover.map { DPoPTransport(AsyncHTTPTransport.shared, $0) } ?? AsyncHTTPTransport.shared
      backend = OAuthBackend(
        OAuthClient(issuer: server.url, id: "app", scopes: ["profile"]), transport: AsyncHTTPTransport.shared,
        proving: prover, time: time)
      controller = SessionController(backend: backend, vault: vault, clock: clock)
    }

    func signIn() async throws {
      try await server.signUp()
      let person = WebPerson()
      let receiver = try await LoopbackReceiver.listen { page in
        do { try await person.visit(page) } catch { Issue.record(error) }
      }
      let backend = backend
      _ = try await controller.signIn { () async throws(SessionError) in
        try await backend.signIn(through: receiver, redirectURI: receiver.redirectURI)
      }
      await receiver.close()
    }

    func me(_ token: AccessToken) async throws -> Int {
      let header = HeaderField("Authorization", token.secret.withExposed { "Bearer " + $0 })
      return try await transport.send(
        TransportRequest(method: "GET", url: server.url + "/v1/me", headers: [header])
      ).status
    }
  }

  @Test func `sign in by browser, serve, refresh and sign out`() async throws {
    try await OwnServer.run { server async throws in
      let fixture = Fixture(server)
      try await fixture.signIn()
      guard case .signedIn(let facts) = fixture.controller.state else {
        Issue.record("not signed in")
        return
      }
      #expect(facts.profile?.name == "Ada")
      var last = try await fixture.controller.token()
      #expect(try await fixture.me(last) == 200)
      for _ in 0..<3 {
        fixture.clock.advance(by: .seconds(601))
        let next = try await fixture.controller.token()
        #expect(next != last)
        #expect(try await fixture.me(next) == 200)
        last = next
      }
      _ = await fixture.controller.signOut()
      #expect(await fixture.controller.waitForRevocations(timeout: .seconds(60)))
      #expect(try await fixture.me(last) == 401)
    }
  }

  @Test func `sign in on another device`() async throws {
    try await OwnServer.run { server async throws in
      try await server.signUp()
      let (shown, show) = AsyncStream.makeStream(of: DeviceCode.self)
      let fixture = Fixture(
        server,
        time: OAuthTime(now: { UnixTime(seconds: 0) }) { _ in
          for await code in shown {
            try await WebPerson().allow(code.userCode, at: code.address)
            return
          }
        })
      let backend = fixture.backend
      _ = try await fixture.controller.signIn { () async throws(SessionError) in
        try await backend.signInOnAnotherDevice { show.yield($0) }
      }
      #expect(try await fixture.me(try await fixture.controller.token()) == 200)
    }
  }

  @Test func `keep the promises of a backend`() async throws {
    try await OwnServer.run { server async throws in
      try await server.signUp()
      let client = OAuthClient(issuer: server.url, id: "app", scopes: ["profile"])
      try await checkBackend(over: AsyncHTTPTransport.shared) {
        OAuthBackend(client, transport: $0)
      } signIn: { backend in
        let person = WebPerson()
        let receiver = try await LoopbackReceiver.listen { page in
          do { try await person.visit(page) } catch { Issue.record(error) }
        }
        let grant = try await backend.signIn(through: receiver, redirectURI: receiver.redirectURI)
        await receiver.close()
        return grant
      }
    }
  }

  @Test func `issue tokens for other APIs from the same session`() async throws {
    try await OwnServer.run { server async throws in
      let fixture = Fixture(server)
      try await fixture.signIn()
      let token = try await fixture.controller.token(for: TokenTarget(scopes: [], resource: "https://api.example.org"))
      #expect(try await fixture.me(token) == 401)
      #expect(try await fixture.me(try await fixture.controller.token()) == 200)
      fixture.clock.advance(by: .seconds(601))
      #expect(try await fixture.me(try await fixture.controller.token()) == 200)
      await #expect(throws: SessionError.requestFailed(.configuration(.init(status: 400, error: "invalid_scope")))) {
        try await fixture.controller.token(for: TokenTarget(scopes: ["admin"]))
      }
      await #expect(throws: SessionError.requestFailed(.configuration(.init(status: 400, error: "invalid_target")))) {
        try await fixture.controller.token(for: TokenTarget(scopes: [], resource: "https://evil.example.org"))
      }
    }
  }

  @Test func `bind tokens to a key, without which they are useless`() async throws {
    try await OwnServer.run { server async throws in
      let prover = DPoPProver(DPoPKey(P256.Signing.PrivateKey()))
      let fixture = Fixture(server, prover: prover)
      try await fixture.signIn()
      var token = try await fixture.controller.token()
      #expect(try await fixture.me(token) == 200)
      fixture.clock.advance(by: .seconds(601))
      token = try await fixture.controller.token()
      #expect(try await fixture.me(token) == 200)
      // The thief has the tokens, but no key or another one.
      let stolen = Fixture(server)
      #expect(try await stolen.me(token) == 401)
      let another = Fixture(server, prover: DPoPProver(DPoPKey(P256.Signing.PrivateKey())))
      #expect(try await another.me(token) == 401)
      guard case .value(let entry) = await fixture.vault.read(), let refresh = entry.session?.refresh,
        let key = RotationKey(bytes: [UInt8](repeating: 1, count: 16))
      else {
        Issue.record("no session")
        return
      }
      for thief in [stolen, another] {
        guard case .noDecision(.configuration, _) = await thief.backend.refresh(refresh, key: key) else {
          Issue.record("a bound refresh token was accepted from a thief")
          continue
        }
      }
      // None of these requests ended the session.
      fixture.clock.advance(by: .seconds(601))
      #expect(try await fixture.me(try await fixture.controller.token()) == 200)
    }
  }
}

/// Our server and Authlib's client.
@Suite(.timeLimit(.minutes(10))) struct `A third-party OAuth client` {
  @Test func `signs in, serves, refreshes and revokes at our server`() async throws {
    try await OwnServer.run { server async throws in
      try await server.signUp()
      let program = try Program("client.py", [server.url])
      defer { program.close() }
      var said: [String] = []
      for await line in program.lines {
        if line.hasPrefix("open ") {
          do { try await WebPerson().visit(String(line.dropFirst(5))) } catch { Issue.record(error) }
        } else if line.hasPrefix("type ") {
          let code = String(line.dropFirst(5))
          try await WebPerson().allow(code, at: server.url + "/device")
          program.say("typed")
        } else {
          said.append(line)
        }
      }
      #expect(
        said == [
          "metadata ok", "code 200 Ada", "refresh 200", "former refused", "code again refused", "device pending",
          "device 200 Ada", "revoked 401",
        ])
    }
  }
}
#endif
