#if Programs
import Crypto
import Foundation
import HandstampCore
import HandstampRegistry
import Testing

@testable import HandstampServer

/// RFC 9449 at the first-party API.
@Suite(.timeLimit(.minutes(10))) struct `A sign-in with a proof of possession` {
  private static let device = #""device":{"id":"d-phone","name":"phone","platform":"iOS"}"#

  /// A client with a key.
  private struct KeyHolder {
    let test: TestServer
    var key = P256.Signing.PrivateKey()

    func proof(
      _ method: String, _ path: String, token: String? = nil, _ change: (inout DPoPProof) -> Void = { _ in }
    ) -> String {
      let now = test.clock.now
      return DPoPProof(at: now, nonce: test.server.proofs.nonce(at: now)) {
        ($0.key, $0.method, $0.url, $0.token) = (key, method, "https://id.example.org" + path, token)
        change(&$0)
      }.text
    }

    func post(
      _ path: String, _ json: String, token: String? = nil, proof given: String? = nil
    ) async throws -> WireClient.Answer {
      var headers = ["Content-Type": "application/json", "DPoP": given ?? proof("POST", path, token: token)]
      if let token { headers["Authorization"] = "DPoP " + token }
      return try await test.client.send("POST", path, headers: headers, body: Array(json.utf8))
    }

    func me(_ token: String) async throws -> Int {
      try await test.client.get(
        "/v1/me", headers: ["Authorization": "DPoP " + token, "DPoP": proof("GET", "/v1/me", token: token)]
      ).status
    }

    func refresh(_ token: String) async throws -> WireClient.Answer {
      try await test.oauth(
        "/oauth/token",
        [
          ("grant_type", "refresh_token"), ("refresh_token", token),
          ("rotation_key", RotationKey.fresh.wireText.withExposed { $0 }),
        ],
        headers: ["DPoP": proof("POST", "/oauth/token")])
    }

    /// Checks that a sign-in has bound its session to this key, and to no other.
    func checkBound(_ answer: WireClient.Answer, _ name: String) async throws {
      #expect(answer.json["token_type"] == "DPoP", "\(name)")
      let session = try TestServer.Session(answer)
      #expect(try await me(session.access) == 200, "\(name)")
      #expect(try await test.client.get("/v1/me", token: session.access).status == 401, "\(name)")
      let thief = KeyHolder(test: test)
      #expect(try await thief.me(session.access) == 401, "\(name)")
      #expect(try await thief.refresh(session.refresh).json["error"] == "invalid_dpop_proof", "\(name)")
      let bare = try await test.refresh(session.refresh, key: .fresh)
      #expect(bare.json["error"] == "invalid_dpop_proof", "\(name)")
      let next = try await refresh(session.refresh)
      #expect(next.json["token_type"] == "DPoP", "\(name)")
      #expect(try await me(next.json["access_token"] ?? "") == 200, "\(name)")
    }
  }

  @Test func `binds every kind of first session to the key`() async throws {
    try await TestServer.run { test in
      let client = KeyHolder(test: test)
      try await client.checkBound(
        try await client.post("/v1/sign-up", TestServer.signUpBody("ada@example.org")), "sign-up")
      try await client.checkBound(
        try await client.post("/v1/sign-in", TestServer.signInBody("ada@example.org")), "sign-in")
      let guest = try await client.post("/v1/sign-in/anonymous", "{\(Self.device)}")
      try await client.checkBound(guest, "guest")
      let token: String = try #require(guest.json["access_token"])
      try await client.checkBound(
        try await client.post("/v1/upgrade", TestServer.signUpBody("eve@example.org"), token: token), "upgrade")
    }
  }

  @Test func `binds the session of a mailed code, and one of Apple's`() async throws {
    let post = Post()
    try await TestServer.run(mailer: post) {
      $0.signUp = .confirmed
    } body: { test in
      let client = KeyHolder(test: test)
      #expect(try await client.post("/v1/sign-up", TestServer.signUpBody("ada@example.org")).status == 202)
      let code = try #require(try await post.next().code)
      try await client.checkBound(
        try await client.post(
          "/v1/sign-up/confirm", #"{"token":"\#(code)","password":"\#(TestServer.password)",\#(Self.device)}"#), "mail")
    }
    try await AppleStub.run { _, url in
      let apple = AppleSignIn(
        clientIDs: [AppleStub.clientID], issuer: AppleStub.issuer, keysURL: url, transport: PatientTransport())
      try await TestServer.run(apple: apple) { test in
        let client = KeyHolder(test: test)
        let token = AppleStub.Token(until: test.clock.now.advanced(by: .seconds(300))).text
        let body = #"{"id_token":"\#(token)","nonce":"\#(AppleStub.nonce)","username":"Ada",\#(Self.device)}"#
        try await client.checkBound(try await client.post("/v1/sign-in/apple", body), "Apple")
      }
    }
  }

  @Test func `is refused without a session if the proof is not valid`() async throws {
    try await TestServer.run { test in
      _ = try await test.signUp()
      let client = KeyHolder(test: test)
      let sessions = try await test.signIn(device: "tablet")
      func count() async throws -> Int {
        try await test.client.get("/v1/sessions", token: sessions.access).json[list: "sessions"].count
      }
      let before = try await count()
      let body = TestServer.signInBody("ada@example.org", device: "laptop")
      let wrongs: [(String, (inout DPoPProof) -> Void)] = [
        ("another path", { $0.url = "https://id.example.org/v1/sign-up" }), ("another method", { $0.method = "GET" }),
        ("another signature", { $0.signedBy = P256.Signing.PrivateKey() }),
        ("no nonce", { $0.nonce = nil }),
      ]
      for (name, change) in wrongs {
        let answer = try await client.post(
          "/v1/sign-in", body, proof: client.proof("POST", "/v1/sign-in", change))
        #expect(answer.status == 401, "\(name)")
        #expect(answer.code == "proof_invalid", "\(name)")
        #expect(answer.headers["www-authenticate"]?.contains("DPoP error=") == true, "\(name)")
        #expect((answer.headers["dpop-nonce"] != nil) == (name == "no nonce"), "\(name)")
      }
      #expect(try await count() == before)
      let proof = client.proof("POST", "/v1/sign-in")
      // A wrong password leaves the proof unused.
      let wrong = TestServer.signInBody("ada@example.org", password: "wrong password")
      #expect(try await client.post("/v1/sign-in", wrong, proof: proof).code == "wrong_credentials")
      #expect(try await client.post("/v1/sign-in", body, proof: proof).status == 200)
      #expect(try await count() == before + 1)
      let again = TestServer.signInBody("ada@example.org", device: "watch")
      #expect(try await client.post("/v1/sign-in", again, proof: proof).code == "proof_invalid")
      #expect(try await count() == before + 1)
    }
  }
}
#endif
