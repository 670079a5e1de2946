#if Programs
import HandstampAsyncHTTP
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

  private static let attempts = [
    ("DELETE", "/v1/sessions/%"), ("DELETE", "/v1/sessions"), ("POST", "/v1/sessions/end-others"),
  ]

  @Test(arguments: attempts) func `needs the password once the sign-in is old`(method: String, path: String)
    async throws
  {
    try await run(after: .seconds(15 * 60) + .milliseconds(1)) { test, phone, laptop async throws in
      let path = path.replacing("%", with: laptop.id)
      let refused = try await test.client.send(method, path, token: phone.access)
      #expect(refused.status == 403)
      #expect(refused.code == "reauthentication_required")
      #expect(try await test.client.get("/v1/me", token: laptop.access).status == 200)

      #expect(try await reauthenticate(test, phone, "not this one").code == "wrong_credentials")
      #expect(try await test.client.send(method, path, token: phone.access).status == 403)

      #expect(try await reauthenticate(test, phone).status == 204)
      #expect((200..<300).contains(try await test.client.send(method, path, token: phone.access).status))
      #expect(try await test.client.get("/v1/me", token: laptop.access).code == "session_ended")
    }
  }

  @Test(arguments: attempts) func `needs no more right after the sign-in`(method: String, path: String) async throws {
    try await run(after: .seconds(15 * 60)) { test, phone, laptop async throws in
      let path = path.replacing("%", with: laptop.id)
      #expect((200..<300).contains(try await test.client.send(method, path, token: phone.access).status))
    }
  }

  @Test func `is not needed for the session itself`() async throws {
    try await run(after: .seconds(3600)) { test, phone, laptop async throws in
      #expect(try await test.client.send("DELETE", "/v1/sessions/\(phone.id)", token: phone.access).status == 204)
      #expect(try await test.client.post("/v1/sign-out", token: laptop.access, json: "").status == 204)
    }
  }

  @Test func `holds for one session, and not for long`() async throws {
    try await run(after: .seconds(3600)) { test, phone, laptop async throws in
      #expect(try await reauthenticate(test, laptop).status == 204)
      let path = "/v1/sessions/end-others"
      #expect(try await test.client.post(path, token: phone.access, json: "").status == 403)
      test.clock.advance(by: .seconds(15 * 60) + .milliseconds(1))
      #expect(try await test.client.post(path, token: laptop.access, json: "").status == 403)
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
      #expect(try await reauthenticate(test, guest, "anything at all").code == "wrong_credentials")
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
        clientIDs: [AppleStub.clientID], issuer: AppleStub.issuer, keysURL: url, transport: AsyncHTTPTransport())
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
        #expect(proof.status == 204)
        #expect(try await test.client.post(others, token: session.access, json: "").status == 200)
      }
    }
  }
}
#endif
