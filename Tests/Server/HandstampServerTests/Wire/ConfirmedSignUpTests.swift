#if Programs
import HandstampCore
import HandstampRegistry
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `With confirmed addresses` {
  private func confirm(
    _ test: TestServer, _ code: String, password: String = TestServer.password, device: String = "phone"
  ) async throws -> WireClient.Answer {
    try await test.client.post(
      "/v1/sign-up/confirm", json: TestServer.confirmBody(code, password: password, device: device))
  }

  private func run(_ post: Post, _ body: (TestServer) async throws -> Void) async throws {
    try await TestServer.run(mailer: post, { $0.signUp = .confirmed }, body: body)
  }

  @Test func `the link creates the account, once`() async throws {
    let post = Post()
    try await run(post) { test in
      let answer = try await test.client.post("/v1/sign-up", json: TestServer.signUpBody("Ada@example.org"))
      #expect(answer.status == 202)
      #expect(answer.json["status"] == "confirmation_sent")
      let code = try #require(try await post.next().code)
      let early = TestServer.signInBody("ada@example.org")
      #expect(try await test.client.post("/v1/sign-in", json: early).status == 401)
      let confirmed = try await confirm(test, code)
      #expect(confirmed.status == 201)
      let session = try TestServer.Session(confirmed)
      #expect(try await test.client.get("/v1/me", token: session.access).json["email"] == "Ada@example.org")
      #expect(try await confirm(test, code).code == "link_invalid")
      #expect(try await test.signIn().account == session.account)
    }
  }

  @Test func `a known and an unknown address get the same response and different mails`() async throws {
    let post = Post()
    try await run(post) { test in
      _ = try await test.client.post("/v1/sign-up", json: TestServer.signUpBody("ada@example.org"))
      let code = try #require(try await post.next().code)
      _ = try await confirm(test, code)
      test.clock.advance(by: .seconds(60))
      let hashes = test.metrics.passwordHashes
      let known = try await test.client.post("/v1/sign-up", json: TestServer.signUpBody("ADA@example.org"))
      let unknown = try await test.client.post("/v1/sign-up", json: TestServer.signUpBody("eve@example.org"))
      #expect(known.status == unknown.status)
      #expect(known.body == unknown.body)
      #expect(test.metrics.passwordHashes == hashes)
      let letters = [try await post.next(), try await post.next()]
      let owners = try #require(letters.first { $0.to == "ADA@example.org" })
      #expect(owners.code == nil)
      #expect(owners.subject == "id.example.org: You already have an account")
      #expect(letters.first { $0.to == "eve@example.org" }?.code != nil)
    }
  }

  @Test func `a stranger who signs up with another person's address knows no password of the account`() async throws {
    let post = Post()
    try await run(post) { test in
      let strangers = TestServer.signUpBody("ada@example.org", password: "the stranger's own")
      #expect(try await test.client.post("/v1/sign-up", json: strangers).status == 202)
      let code = try #require(try await post.next().code)
      #expect(test.metrics.passwordHashes == 0)
      #expect(try await confirm(test, code, password: "the owner's own").status == 201)
      let guess = TestServer.signInBody("ada@example.org", password: "the stranger's own", device: "stranger")
      #expect(try await test.client.post("/v1/sign-in", json: guess).status == 401)
      let owner = TestServer.signInBody("ada@example.org", password: "the owner's own")
      #expect(try await test.client.post("/v1/sign-in", json: owner).status == 200)
    }
  }

  @Test func `the password is checked with the code, which a weak one does not spend`() async throws {
    let post = Post()
    try await run(post) { test in
      // With a password that the policy refuses, or without one.
      let body = TestServer.signUpBody("ada@example.org", password: "short")
      #expect(try await test.client.post("/v1/sign-up", json: body).status == 202)
      let code = try #require(try await post.next().code)
      let none = try await test.client.post(
        "/v1/sign-up",
        json: #"{"email":"bob@example.org","username":"Bob",\#(TestServer.deviceBody("phone"))}"#)
      #expect(none.status == 202)
      for weak in ["short", "password1", "ada@example.org"] {
        #expect(try await confirm(test, code, password: weak).code == "weak_password")
      }
      let missing = try await test.client.post(
        "/v1/sign-up/confirm", json: #"{"token":"\#(code)",\#(TestServer.deviceBody("phone"))}"#)
      #expect(missing.code == "invalid_request")
      #expect(try await confirm(test, code + "A", password: "short").code == "link_invalid")
      #expect(test.metrics.passwordHashes == 0)
      #expect(try await confirm(test, code).status == 201)
    }
  }

  @Test func `the first to open a link gets an address that two users claim`() async throws {
    let post = Post()
    try await run(post) { test in
      var codes: [String] = []
      for _ in 0..<2 {
        _ = try await test.client.post("/v1/sign-up", json: TestServer.signUpBody("ada@example.org"))
        codes.append(try #require(try await post.next().code))
        test.clock.advance(by: .seconds(60))
      }
      #expect(try await confirm(test, codes[0]).status == 201)
      #expect(try await confirm(test, codes[1]).code == "link_invalid")
    }
  }

  @Test func `a link expires after a day`() async throws {
    for (wait, status) in [(Duration.milliseconds(86_399_999), 201), (.seconds(86_400), 400)] {
      let post = Post()
      try await run(post) { test in
        _ = try await test.client.post("/v1/sign-up", json: TestServer.signUpBody("ada@example.org"))
        let code = try #require(try await post.next().code)
        test.clock.advance(by: wait)
        #expect(try await confirm(test, code).status == status)
      }
    }
  }

  @Test func `a guest stays a guest until the link is opened`() async throws {
    let post = Post()
    try await run(post) { test in
      let guest = try await test.signInAnonymously()
      let answer = try await test.client.post(
        "/v1/upgrade", token: guest.access, json: TestServer.signUpBody("ada@example.org"))
      #expect(answer.status == 202)
      let code = try #require(try await post.next().code)
      #expect(try await test.client.get("/v1/me", token: guest.access).json["is_anonymous"] == true)
      let full = try TestServer.Session(try await confirm(test, code, password: "the owner's own"))
      #expect(full.account == guest.account)
      #expect(try await test.client.get("/v1/me", token: full.access).json["is_anonymous"] == false)
      #expect(try await test.client.get("/v1/me", token: guest.access).json["reason"] == "replaced")
      let owner = TestServer.signInBody("ada@example.org", password: "the owner's own")
      #expect(try await test.client.post("/v1/sign-in", json: owner).status == 200)
      #expect(try await confirm(test, code).code == "link_invalid")
    }
  }

  @Test func `a guest whose address was taken meanwhile gets an error and stays a guest`() async throws {
    let post = Post()
    try await run(post) { test in
      let guest = try await test.signInAnonymously()
      _ = try await test.client.post(
        "/v1/upgrade", token: guest.access, json: TestServer.signUpBody("ada@example.org"))
      let late = try #require(try await post.next().code)
      test.clock.advance(by: .seconds(60))
      _ = try await test.client.post("/v1/sign-up", json: TestServer.signUpBody("ada@example.org"))
      _ = try await confirm(test, try #require(try await post.next().code), device: "laptop")
      #expect(try await confirm(test, late).code == "email_taken")
      #expect(try await test.client.get("/v1/me", token: guest.access).json["is_anonymous"] == true)
    }
  }

  @Test func `an address that cannot receive mail is refused as malformed`() async throws {
    try await run(Post()) { test in
      for address in ["a,b@example.org", "<a@example.org>", "a@b,c@example.org", "\\\"a,b\\\"@example.org"] {
        let answer = try await test.client.post("/v1/sign-up", json: TestServer.signUpBody(address))
        #expect(answer.status == 400)
      }
    }
  }

  @Test func `the link uses the operator's template, and contains the same code`() async throws {
    let post = Post()
    try await TestServer.run(
      mailer: post,
      {
        $0.signUp = .confirmed
        $0.mail.link = "https://app.example.org/{action}#{token}"
      }
    ) { test in
      _ = try await test.client.post("/v1/sign-up", json: TestServer.signUpBody("ada@example.org"))
      let letter = try await post.next()
      let code = try #require(letter.code)
      #expect(letter.text.contains("\nhttps://app.example.org/confirm#\(code)\n"))
    }
  }

  @Test func `a server needs a mailer`() async throws {
    await #expect(throws: ServerConfigurationError.noMailer) {
      try await TestServer.run({ $0.signUp = .confirmed }) { _ in }
    }
    await #expect(throws: ServerConfigurationError.mailSender) {
      try await TestServer.run(mailer: Post(), { $0.mail.from = "a, b" }) { _ in }
    }
  }
}
#endif
