#if Programs
import HandstampCore
import HandstampRegistry
import Testing

@testable import HandstampServer

/// A phone that is taken while it is signed in must not sign its owner out of the other devices.
@Suite(.timeLimit(.minutes(10))) struct `Ending other sessions` {
  /// Runs `body` with the sessions of two devices, `age` after the sign-in.
  private func run(
    after age: Duration, _ configure: (inout ServerConfiguration) -> Void = { _ in },
    _ body: (TestServer, _ phone: TestServer.Session, _ laptop: TestServer.Session) async throws -> Void
  ) async throws {
    try await TestServer.run {
      $0.accessTokenLife = .seconds(86_400)
      configure(&$0)
    } body: { test async throws in
      let phone = try await test.signUp()
      let laptop = try await test.signIn()
      test.clock.advance(by: age)
      try await body(test, phone, laptop)
    }
  }

  private func reauthenticate(
    _ test: TestServer, _ session: TestServer.Session, _ password: String = TestServer.password
  ) async throws -> WireClient.Answer {
    try await test.client.post("/v1/reauthenticate", token: session.access, json: #"{"password":"\#(password)"}"#)
  }

  /// Returns the access token of a good reauthentication.
  private func proof(_ test: TestServer, _ session: TestServer.Session) async throws -> String {
    let answer = try await reauthenticate(test, session)
    #expect(answer.status == 200)
    return try #require(answer.json["access_token"] as String?)
  }

  private static let attempts = [
    ("DELETE", "/v1/sessions/%"), ("DELETE", "/v1/sessions"), ("POST", "/v1/sessions/end-others"),
  ]

  @Test(arguments: attempts) func `needs the password once the sign-in is old`(method: String, path: String)
    async throws
  {
    try await run(after: .seconds(15 * 60 + 1)) { test, phone, laptop async throws in
      let path = path.replacing("%", with: laptop.id)
      let refused = try await test.client.send(method, path, token: phone.access)
      #expect(refused.status == 403)
      #expect(refused.code == "reauthentication_required")
      #expect(try await test.client.get("/v1/me", token: laptop.access).status == 200)

      #expect(try await reauthenticate(test, phone, "not this one").code == "wrong_credentials")
      #expect(try await test.client.send(method, path, token: phone.access).status == 403)

      let proof = try await proof(test, phone)
      #expect((200..<300).contains(try await test.client.send(method, path, token: proof).status))
      #expect(try await test.client.get("/v1/me", token: laptop.access).code == "session_ended")
    }
  }

  @Test(arguments: attempts) func `needs no more right after the sign-in`(method: String, path: String) async throws {
    try await run(after: .seconds(15 * 60)) { test, phone, laptop async throws in
      let path = path.replacing("%", with: laptop.id)
      #expect((200..<300).contains(try await test.client.send(method, path, token: phone.access).status))
    }
  }

  @Test func `is as necessary as it is for their names`() async throws {
    try await run(after: .seconds(3600)) { test, phone, laptop async throws in
      func rename(_ id: String, _ token: String) async throws -> Int {
        try await test.client.send(
          "PATCH", "/v1/sessions/" + id, token: token, headers: ["Content-Type": "application/json"],
          body: Array(#"{"name":"This one"}"#.utf8)
        ).status
      }
      #expect(try await rename(laptop.id, phone.access) == 403)
      #expect(try await rename(phone.id, phone.access) == 200)
      #expect(try await rename(laptop.id, proof(test, phone)) == 200)
    }
  }

  @Test func `is not needed for the session itself`() async throws {
    try await run(after: .seconds(3600)) { test, phone, laptop async throws in
      #expect(try await test.client.send("DELETE", "/v1/sessions/\(phone.id)", token: phone.access).status == 204)
      #expect(try await test.client.post("/v1/sign-out", token: laptop.access, json: "").status == 204)
    }
  }

  @Test func `holds for the new token alone, and not for long`() async throws {
    try await run(after: .seconds(3600)) { test, phone, laptop async throws in
      let proof = try await proof(test, laptop)
      let refreshed: String = try #require(
        try await test.refresh(laptop.refresh, key: .fresh).json["access_token"])
      let path = "/v1/sessions/end-others"
      // A copy of any token that was there before gains nothing.
      for token in [phone.access, laptop.access, refreshed] {
        #expect(try await test.client.post(path, token: token, json: "").code == "reauthentication_required")
      }
      test.clock.advance(by: .seconds(15 * 60 + 1))
      #expect(try await test.client.post(path, token: proof, json: "").status == 403)
      #expect(try await test.client.get("/v1/me", token: proof).status == 200)
    }
  }

  /// A session that an app gets through a browser is as old as the user's sign-in there, or the browser of a taken phone would
  /// give a new proof without the password.
  @Test(arguments: [false, true]) func `counts the sign-in of the browser that a session comes from`(isDevice: Bool)
    async throws
  {
    try await TestServer.runOAuth { test in
      let app = OAuthApp(id: "own", redirect: "org.example.own:/", scope: nil)
      let browser = Browser(test.client.base)
      func token() async throws -> String {
        guard isDevice else {
          return try TestServer.Session(try await app.redeem(try await app.code(browser), at: test)).access
        }
        let codes = try await test.oauth("/oauth/device_authorization", [("client_id", "own-tv")])
        let typed: String = try #require(codes.json["user_code"])
        let page = try await browser.press(
          "look", on: try await browser.get("/device"), at: "/device", [("user_code", typed)])
        _ = try await browser.press("allow", on: page, at: "/device", [("user_code", typed)])
        let code: String = try #require(codes.json["device_code"])
        return try TestServer.Session(
          try await test.oauth(
            "/oauth/token",
            [
              ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"), ("device_code", code),
              ("client_id", "own-tv"),
            ])
        ).access
      }
      let start = test.clock.now.seconds
      _ = try await browser.signIn(at: "/device")
      test.clock.advance(by: .seconds(10 * 60))
      let young = try await token()
      #expect(try await test.introspect(young).json["auth_time"] == Int(start))
      #expect(try await test.client.send("DELETE", "/v1/sessions/none", token: young).code == "not_found")
      test.clock.advance(by: .seconds(5 * 60 + 1))
      let refused = try await test.client.send("DELETE", "/v1/sessions/none", token: try await token())
      #expect(refused.code == "reauthentication_required")
    }
  }

  @Test func `asks nothing if the operator says so`() async throws {
    try await run(after: .seconds(3600)) {
      $0.reauthentication = nil
    } _: { test, phone, _ async throws in
      #expect(try await test.client.post("/v1/sessions/end-others", token: phone.access, json: "").status == 200)
    }
  }

  @Test func `asks nothing of a guest, who has nothing to prove it with`() async throws {
    try await TestServer.run {
      $0.accessTokenLife = .seconds(86_400)
    } body: { test async throws in
      let guest = try await test.signInAnonymously()
      test.clock.advance(by: .seconds(3600))
      #expect(try await test.client.post("/v1/sessions/end-others", token: guest.access, json: "").status == 200)
      // Which costs no hash: a guest must not fill the queue of those who sign in.
      let hashes = test.metrics.passwordHashes
      #expect(try await reauthenticate(test, guest, "anything at all").code == "wrong_credentials")
      #expect(test.metrics.passwordHashes == hashes)
    }
  }

  @Test func `bounds the guesses of a thief`() async throws {
    try await run(after: .seconds(3600)) { test, phone, _ async throws in
      var last = 0
      for _ in 0..<12 { last = try await reauthenticate(test, phone, "not this one").status }
      #expect(last == 429)
      #expect(try await reauthenticate(test, phone).status == 429)
    }
  }

  @Test func `accepts Apple's word for the same user, once`() async throws {
    try await AppleStub.run { apple, url in
      let signIn = AppleSignIn(
        clientIDs: [AppleStub.clientID], issuer: AppleStub.issuer, keysURL: url, transport: PatientTransport())
      try await TestServer.run(apple: signIn, { $0.accessTokenLife = .seconds(86_400) }) { test async throws in
        func token(_ nonce: String, subject: String? = nil) -> String {
          AppleStub.Token(until: test.clock.now.advanced(by: .seconds(300))) {
            $0.nonce = nonce
            if let subject { $0.subject = subject }
          }.text
        }
        func send(_ path: String, _ nonce: String, _ more: String = "", subject: String? = nil, access: String? = nil)
          async throws -> WireClient.Answer
        {
          try await test.client.post(
            path, token: access, json: #"{"id_token":"\#(token(nonce, subject: subject))","nonce":"\#(nonce)"\#(more)}"#
          )
        }
        let device = #","device":{"id":"d-1","name":"phone","platform":"iOS"}"#
        let session = try TestServer.Session(try await send("/v1/sign-in/apple", "the nonce of the sign-in", device))
        test.clock.advance(by: .seconds(3600))
        let others = "/v1/sessions/end-others"
        #expect(try await test.client.post(others, token: session.access, json: "").status == 403)
        let stranger = try await send(
          "/v1/reauthenticate", "the nonce of a stranger", subject: "002.eve", access: session.access)
        #expect(stranger.code == "id_token_invalid")
        let again = try await send("/v1/reauthenticate", "the nonce of the sign-in", access: session.access)
        #expect(again.status == 403, "a nonce is good for one proof")
        #expect(try await test.client.post(others, token: session.access, json: "").status == 403)
        let proof = try await send("/v1/reauthenticate", "the nonce of the proof", access: session.access)
        let proven: String = try #require(proof.json["access_token"])
        #expect(try await test.client.post(others, token: session.access, json: "").status == 403)
        #expect(try await test.client.post(others, token: proven, json: "").status == 200)
        // Without a password, the proof is needed to delete the account as well.
        #expect(
          try await test.client.send("DELETE", "/v1/me", token: session.access).code == "reauthentication_required")
        #expect(try await test.client.send("DELETE", "/v1/me", token: proven).status == 204)
      }
    }
  }
}
#endif
