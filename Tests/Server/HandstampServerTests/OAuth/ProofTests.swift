#if Programs
import Crypto
import Foundation
import HandstampSupport
import HTTPTypes
import HandstampCore
import Testing

@testable import HandstampServer

/// RFC 9449 over HTTP.
@Suite(.timeLimit(.minutes(10))) struct `A proof of possession at the server` {
  /// A session whose tokens are bound to `key`.
  private func bound(_ test: TestServer, _ key: P256.Signing.PrivateKey) async throws -> TestServer.Session {
    let app = OAuthApp()
    let code = try await app.code(Browser(test.client.base))
    let proof = DPoPProof(at: test.clock.now, nonce: test.server.proofs.nonce(at: test.clock.now)) { $0.key = key }
    let answer = try await app.redeem(code, at: test, headers: ["DPoP": proof.text])
    #expect(answer.json["token_type"] == "DPoP")
    return try TestServer.Session(answer)
  }

  @Test func `contains the server's nonce, which comes with the first refusal`() async throws {
    try await TestServer.runOAuth { test in
      let app = OAuthApp()
      let code = try await app.code(Browser(test.client.base))
      let first = try await app.redeem(
        code, at: test, headers: ["DPoP": DPoPProof(at: test.clock.now, nonce: nil).text])
      #expect(first.status == 400)
      #expect(first.json["error"] == "use_dpop_nonce")
      let nonce = try #require(first.headers["dpop-nonce"])
      let second = try await app.redeem(
        code, at: test, headers: ["DPoP": DPoPProof(at: test.clock.now, nonce: nonce).text])
      #expect(second.json["token_type"] == "DPoP")
      // A nonce is valid for five to ten minutes.
      let session = try TestServer.Session(second)
      test.clock.advance(by: .seconds(601))
      let late = try await app.refresh(
        session.refresh, at: test, headers: ["DPoP": DPoPProof(at: test.clock.now, nonce: nonce).text])
      #expect(late.json["error"] == "use_dpop_nonce")
    }
  }

  @Test func `is valid for one request and key, once, for as long as its nonce`() async throws {
    try await TestServer.runOAuth { test in
      let key = P256.Signing.PrivateKey()
      let session = try await bound(test, key)
      let now = test.clock.now
      let nonce = test.server.proofs.nonce(at: now)
      func me(_ change: (inout DPoPProof) -> Void) async throws -> WireClient.Answer {
        let proof = DPoPProof(at: now, nonce: nonce) {
          ($0.key, $0.method, $0.url, $0.token) = (key, "GET", "https://id.example.org/v1/me", session.access)
          change(&$0)
        }
        return try await test.client.get(
          "/v1/me", headers: ["Authorization": "DPoP \(session.access)", "DPoP": proof.text])
      }
      #expect(try await me { $0.url += "?a=b#c" }.status == 200)
      #expect(try await me { $0.url = "HTTPS://ID.example.org:443/v1/me" }.status == 200)
      // The nonce has the server's time; the client's clock may be wrong.
      #expect(try await me { $0.at = now.advanced(by: .seconds(-3600)) }.status == 200)
      #expect(try await me { $0.at = now.advanced(by: .seconds(3600)) }.status == 200)
      let wrongs: [(String, (inout DPoPProof) -> Void)] = [
        ("another key", { $0.key = P256.Signing.PrivateKey() }),
        ("another signature", { $0.signedBy = P256.Signing.PrivateKey() }),
        ("another method", { $0.method = "POST" }), ("another path", { $0.url = "https://id.example.org/v1/sessions" }),
        ("another host", { $0.url = "https://evil.example.org/v1/me" }),
        ("another scheme", { $0.url = "http://id.example.org/v1/me" }),
        ("an old nonce", { $0.nonce = test.server.proofs.nonce(at: now.advanced(by: .seconds(-600))) }),
        ("a nonce to come", { $0.nonce = test.server.proofs.nonce(at: now.advanced(by: .seconds(300))) }),
        ("another token", { $0.token = "x" }), ("no token", { $0.token = nil }), ("another kind", { $0.typ = "JWT" }),
        ("another algorithm", { $0.alg = "none" }), ("a key given away", { $0.givesKeyAway = true }),
        ("no id", { $0.id = "" }), ("another nonce", { $0.nonce = "AAAA" }), ("no nonce", { $0.nonce = nil }),
      ]
      for (name, change) in wrongs {
        let answer = try await me(change)
        #expect(answer.status == 401, "\(name)")
        #expect(
          answer.headers["www-authenticate"]?.hasPrefix("DPoP error=") == true || name == "another key", "\(name)")
      }
      // Once: not for another request either, nor in another encoding.
      #expect(try await me { $0.id = "once" }.status == 200)
      #expect(try await me { $0.id = "once" }.status == 401)
    }
  }

  @Test func `is required only for bound tokens`() async throws {
    try await TestServer.runOAuth { test in
      let key = P256.Signing.PrivateKey()
      let session = try await bound(test, key)
      let now = test.clock.now
      let nonce = test.server.proofs.nonce(at: now)
      #expect(try await test.client.get("/v1/me", token: session.access).status == 401)
      let bare = try await test.client.get("/v1/me", headers: ["Authorization": "DPoP \(session.access)"])
      #expect(bare.status == 401)
      let own = try await test.signIn()
      let dressed = DPoPProof(at: now, nonce: nonce) {
        ($0.method, $0.url, $0.token) = ("GET", "https://id.example.org/v1/me", own.access)
      }
      let refused = try await test.client.get(
        "/v1/me", headers: ["Authorization": "DPoP \(own.access)", "DPoP": dressed.text])
      #expect(refused.status == 401)
      #expect(try await test.introspect(session.access).json[object: "cnf"]["jkt"] as String? != nil)
      // A refresh without the proof, or with another key's, uses up no token and ends no session.
      let app = OAuthApp()
      let without = try await app.refresh(session.refresh, at: test)
      #expect(without.json["error"] == "invalid_dpop_proof")
      let other = try await app.refresh(
        session.refresh, at: test, headers: ["DPoP": DPoPProof(at: now, nonce: nonce).text])
      #expect(other.json["error"] == "invalid_dpop_proof")
      test.clock.advance(by: .seconds(60))
      let later = test.clock.now
      let good = try await app.refresh(
        session.refresh, at: test,
        headers: ["DPoP": DPoPProof(at: later, nonce: test.server.proofs.nonce(at: later)) { $0.key = key }.text])
      #expect(good.status == 200)
    }
  }

  @Test func `is asked for beside a bearer token, with the error at the scheme that was used`() async throws {
    try await TestServer.runOAuth { test in
      let key = P256.Signing.PrivateKey()
      let session = try await bound(test, key)
      let now = test.clock.now
      func challenge(
        _ authorization: String?, _ proof: DPoPProof? = nil, at path: String = "/v1/me"
      ) async throws -> String? {
        var headers: [String: String] = [:]
        headers["Authorization"] = authorization
        headers["DPoP"] = proof?.text
        return try await test.client.get(path, headers: headers).headers["www-authenticate"]
      }
      func proof(_ path: String = "/v1/me", nonce: String?, token: String) -> DPoPProof {
        DPoPProof(at: now, nonce: nonce) {
          ($0.key, $0.method, $0.url, $0.token) = (key, "GET", "https://id.example.org" + path, token)
        }
      }
      let nonce = test.server.proofs.nonce(at: now)
      let place = #"scope="profile", "# + TestServer.resourceMetadata
      let other = #"\#(place), DPoP \#(place), algs="ES256""#
      #expect(try await challenge(nil) == "Bearer " + other)
      #expect(try await challenge("Basic YTpi") == "Bearer " + other)
      #expect(try await challenge("Bearer x") == #"Bearer error="invalid_token", "# + other)
      // A bound token is no bearer token.
      #expect(try await challenge("Bearer \(session.access)") == #"Bearer error="invalid_token", "# + other)
      let bad = #"DPoP error="invalid_token", \#(place), algs="ES256", Bearer \#(place)"#
      #expect(try await challenge("DPoP x", proof(nonce: nonce, token: "x")) == bad)
      #expect(try await challenge("dpop", nil) == bad)
      let wanted = try await challenge("DPoP \(session.access)", proof(nonce: nil, token: session.access))
      let proven = "\(TestServer.resourceMetadata), algs=\"ES256\", Bearer \(TestServer.resourceMetadata)"
      #expect(wanted == #"DPoP error="use_dpop_nonce", "# + proven)
      let bare = try await challenge("DPoP \(session.access)")
      #expect(bare == #"DPoP error="invalid_dpop_proof", "# + proven)
      let scope = try await challenge(
        "DPoP \(session.access)", proof("/v1/sessions", nonce: nonce, token: session.access), at: "/v1/sessions")
      #expect(scope == #"DPoP error="insufficient_scope", "# + proven)
    }
  }

  @Test func `takes no room unless its token is genuine and bound to its key`() async throws {
    try await TestServer.runOAuth { test in
      let (key, app) = (P256.Signing.PrivateKey(), OAuthApp())
      let session = try await bound(test, key)
      let own = try await test.signIn()
      let now = test.clock.now
      let nonce = test.server.proofs.nonce(at: now)
      func error(_ form: [(String, String)], _ proof: DPoPProof) async throws -> String? {
        try await test.oauth("/oauth/token", form, headers: ["DPoP": proof.text]).json["error"]
      }
      let refresh = [("grant_type", "refresh_token"), ("client_id", app.id)]
      for (form, refusal) in [
        (refresh + [("refresh_token", "garbage")], "invalid_grant"),
        (refresh + [("refresh_token", session.refresh)], "invalid_dpop_proof"),
        (
          [
            ("grant_type", "authorization_code"), ("client_id", app.id), ("code", "hsl1.garbage"),
            ("redirect_uri", app.redirect), ("code_verifier", app.verifier),
          ], "invalid_grant"
        ),
      ] {
        let thrownAway = DPoPProof(at: now, nonce: nonce)
        #expect(try await error(form, thrownAway) == refusal)
        // Had it been remembered, it would be refused as used.
        #expect(try await error(refresh + [("refresh_token", "garbage")], thrownAway) == "invalid_grant")
      }
      // With a token that is bound to no key, a proof is of no use, and not remembered either.
      let rotationKey = RotationKey.fresh.wireText.withExposed { $0 }
      let idle = DPoPProof(at: now, nonce: nonce)
      let form = [("grant_type", "refresh_token"), ("refresh_token", own.refresh), ("rotation_key", rotationKey)]
      for _ in 0..<2 { #expect(try await error(form, idle) == nil) }
      // At the API: with the token of another key.
      let stolen = DPoPProof(at: now, nonce: nonce) {
        ($0.method, $0.url, $0.token) = ("GET", "https://id.example.org/v1/me", session.access)
      }
      for _ in 0..<2 {
        let answer = try await test.client.get(
          "/v1/me", headers: ["Authorization": "DPoP \(session.access)", "DPoP": stolen.text])
        #expect(answer.code == "token_invalid")
      }
      // The key's own proof is good once.
      let genuine = DPoPProof(at: now, nonce: nonce) { $0.key = key }
      let headers = ["DPoP": genuine.text]
      #expect(try await app.refresh(session.refresh, at: test, headers: headers).status == 200)
      #expect(try await app.refresh(session.refresh, at: test, headers: headers).json["error"] == "invalid_dpop_proof")
    }
  }

  @Test func `is refused with a standard error if it is malformed`() async throws {
    try await TestServer.runOAuth { test in
      for garbage in ["", "a.b.c", "....", String(repeating: "A", count: 5000), "e30.e30."] {
        let answer = try await test.oauth(
          "/oauth/token", [("grant_type", "refresh_token"), ("refresh_token", "x")], headers: ["DPoP": garbage])
        #expect(answer.status == 400)
        #expect(answer.json["error"] == "invalid_dpop_proof")
      }
    }
  }

  @Test func `accepts nonces of another server with the same keys`() {
    let keys = SigningKeys()
    let (one, two) = (DPoPVerifier(address: "https://a", keys: keys), DPoPVerifier(address: "https://a", keys: keys))
    let now = UnixTime(seconds: 1_800_000_000)
    #expect(one.nonce(at: now) == two.nonce(at: now))
    #expect(one.nonce(at: now) != one.nonce(at: now.advanced(by: .seconds(300))))
    #expect(one.nonce(at: now) != DPoPVerifier(address: "https://a", keys: SigningKeys()).nonce(at: now))
  }
}
#endif
