#if Programs
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Testing

@testable import HandstampServer

/// Two servers on one store: the row on tokens at the end of docs/asvs.md, and 7.4.2 there, over HTTP.
@Suite(.timeLimit(.minutes(10))) struct `Two servers on one store` {
  /// Servers on one store, each with its own keys.
  private func run(
    _ keys: [SigningKeys], clock: TestClock, _ body: ([WireClient], Registry) async throws -> Void
  ) async throws {
    var random = SystemRandomNumberGenerator()
    let registry = Registry(
      store: MemoryRegistryStore(), mint: TokenMint(try MasterKeys(drawing: KeyID("k1"), from: &random)))
    var running: [RunningServer] = []
    do {
      for keys in keys {
        let server = try await SessionServer(
          configuration: ServerConfiguration(issuer: "https://id.example.org") {
            $0.passwords.hashing = .forTests
            $0.now = { clock.now }
          },
          registry: registry, keys: keys)
        running.append(try await server.start())
      }
      try await body(running.map { WireClient(base: $0.url) }, registry)
    } catch {
      for server in running { try await server.stop() }
      throw error
    }
    for server in running { try await server.stop() }
  }

  @Test func `rotate their keys without refusing a token, and publish no private key`() async throws {
    let clock = TestClock()
    let previous = SigningKeys()
    let both = previous.rotated()
    let only = try #require(both.without(previous.ids[0]))
    try await run([previous, both, only], clock: clock) { servers, _ in
      let session = try TestServer.Session(
        try await servers[0].post("/v1/sign-up", json: TestServer.signUpBody("ada@example.org")))
      let new = try TestServer.Session(
        try await servers[1].post("/v1/sign-in", json: TestServer.signInBody("ada@example.org")))
      let set = try await servers[1].get("/.well-known/jwks.json")
      let keys = set.json[list: "keys"]
      #expect(keys.map { $0["kid"] } == both.ids)
      for key in keys { #expect(Set(key.fields.keys) == ["kty", "crv", "use", "alg", "kid", "x", "y"]) }
      // Clients that read the key set accept tokens of both, and so does the server, for a token's lifetime.
      for token in [session.access, new.access] {
        #expect(try await Authlib.verify(token, keys: set.text)[object: "payload"]["sub"] == session.account)
        #expect(try await servers[1].get("/v1/me", token: token).status == 200)
      }
      clock.advance(by: .seconds(599))
      #expect(try await servers[1].get("/v1/me", token: session.access).status == 200)
      // The former key is gone: its tokens are refused, the session continues.
      #expect(try await servers[2].get("/v1/me", token: session.access).code == "token_invalid")
      let key = RotationKey.fresh.wireText.withExposed { $0 }
      let refreshed = try await servers[2].post(
        "/oauth/token", form: "grant_type=refresh_token&refresh_token=\(session.refresh)&rotation_key=\(key)")
      #expect(try await servers[2].get("/v1/me", token: refreshed.json["access_token"]).status == 200)
    }
  }

  @Test func `never issue the same token twice, even within one second`() async throws {
    let clock = TestClock()
    try await run([SigningKeys()], clock: clock) { servers, _ in
      let session = try TestServer.Session(
        try await servers[0].post("/v1/sign-up", json: TestServer.signUpBody("ada@example.org")))
      let key = RotationKey.fresh.wireText.withExposed { $0 }
      let form = "grant_type=refresh_token&refresh_token=\(session.refresh)&rotation_key=\(key)"
      var ids: Set<String> = []
      for _ in 0..<50 {
        let token: String = try #require(try await servers[0].post("/oauth/token", form: form).json["access_token"])
        let part = try #require(Base64URL.decode(Array(token.split(separator: ".")[1].utf8)))
        let claims = try #require(try JSONSerialization.jsonObject(with: Data(part)) as? [String: Any])
        ids.insert(try #require(claims["jti"] as? String))
      }
      #expect(ids.count == 50)
    }
  }

  @Test func `refuse all tokens of a closed account at once, on both servers`() async throws {
    let clock = TestClock()
    let keys = SigningKeys()
    try await run([keys, keys], clock: clock) { servers, registry in
      let session = try TestServer.Session(
        try await servers[0].post("/v1/sign-up", json: TestServer.signUpBody("ada@example.org")))
      let record = try #require(try await registry.account(AccountID(session.account)))
      _ = try await registry.closeAccount(record, now: clock.now)
      for server in servers {
        let refused = try await server.get("/v1/me", token: session.access)
        #expect(refused.status == 401)
        #expect(refused.json["reason"] == "account_closed")
        let key = RotationKey.fresh.wireText.withExposed { $0 }
        let refresh = try await server.post(
          "/oauth/token", form: "grant_type=refresh_token&refresh_token=\(session.refresh)&rotation_key=\(key)")
        #expect(refresh.status == 400)
        #expect(refresh.json["error"] == "invalid_grant")
        // Without the password, the response does not reveal that the account exists.
        let known = try await server.post(
          "/v1/sign-in", json: TestServer.signInBody("ada@example.org", password: "not this one"))
        let unknown = try await server.post(
          "/v1/sign-in", json: TestServer.signInBody("eve@example.org", password: "not this one"))
        #expect(known.status == 401)
        #expect(known.body == unknown.body)
      }
    }
  }
}
#endif
