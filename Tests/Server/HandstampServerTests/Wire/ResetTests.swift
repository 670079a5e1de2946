#if Programs
import HandstampCore
import HandstampRegistry
import HandstampTesting
import Testing

@testable import HandstampServer

extension TestServer {
  func requestReset(_ email: String) async throws -> WireClient.Answer {
    try await client.post("/v1/password-reset", json: #"{"email":"\#(email)"}"#)
  }

  func confirmReset(_ code: String, _ password: String = "another password") async throws -> WireClient.Answer {
    try await client.post(
      "/v1/password-reset/confirm", json: #"{"token":"\#(code)","new_password":"\#(password)"}"#)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A password reset` {
  @Test func `answers alike for every address, and mails only those with an account`() async throws {
    let post = Post()
    try await TestServer.run(mailer: post) { test in
      _ = try await test.signUp("Ada@example.org")
      let known = try await test.requestReset("ada@EXAMPLE.org")
      let unknown = try await test.requestReset("eve@example.org")
      #expect(known.status == 202)
      #expect(known.body == unknown.body)
      #expect(known.sameHeaders == unknown.sameHeaders)
      let letter = try await post.next()
      #expect(letter.to == "Ada@example.org")
      #expect(letter.code != nil)
      await test.server.lasting.outbox.bell.waitUntilIdle()
      #expect(post.all.count == 1)
      #expect(test.metrics.passwordHashes == 1)
      let code = try #require(letter.code)
      #expect(!test.logs.text.contains(code))
      #expect(!test.logs.text.lowercased().contains("@example.org"))
    }
  }

  @Test func `sets the password once and ends every session`() async throws {
    let post = Post()
    try await TestServer.run(mailer: post) { test in
      let phone = try await test.signUp(device: "phone")
      let laptop = try await test.signIn(device: "laptop")
      _ = try await test.requestReset("ada@example.org")
      let code = try #require(try await post.next().code)
      #expect(try await test.confirmReset(code, "short").code == "weak_password")
      test.store.fail(.writes)
      #expect(try await test.confirmReset(code).status == 503)
      test.store.fail(.none)
      #expect(try await test.confirmReset(code).status == 204)
      for session in [phone, laptop] {
        #expect(try await test.client.get("/v1/me", token: session.access).json["reason"] == "revoked")
      }
      let again = try await test.confirmReset(code, "a third password")
      #expect(again.status == 400)
      #expect(again.code == "link_invalid")
      let body = TestServer.signInBody("ada@example.org", password: "another password")
      #expect(try await test.client.post("/v1/sign-in", json: body).status == 200)
    }
  }

  @Test func `expires after half an hour, to the millisecond`() async throws {
    for (wait, status) in [(Duration.milliseconds(1_799_999), 204), (.seconds(1800), 400)] {
      let post = Post()
      try await TestServer.run(mailer: post) { test in
        _ = try await test.signUp()
        _ = try await test.requestReset("ada@example.org")
        let code = try #require(try await post.next().code)
        test.clock.advance(by: wait)
        #expect(try await test.confirmReset(code).status == status)
      }
    }
  }

  @Test func `stays valid when a stranger requests more, and is void after one of them is used`() async throws {
    let post = Post()
    try await TestServer.run(mailer: post) { test in
      _ = try await test.signUp()
      var codes: [String] = []
      for _ in 0..<3 {
        test.clock.advance(by: .seconds(60))
        _ = try await test.requestReset("ada@example.org")
        codes.append(try #require(try await post.next().code))
      }
      #expect(try await test.confirmReset(codes[0]).status == 204)
      #expect(try await test.confirmReset(codes[1]).code == "link_invalid")
      #expect(try await test.confirmReset(codes[2]).code == "link_invalid")
    }
  }

  @Test func `is void after a password change, or the account's deletion`() async throws {
    let post = Post()
    try await TestServer.run(mailer: post) { test in
      let session = try await test.signUp()
      func ask() async throws -> String {
        test.clock.advance(by: .seconds(60))
        _ = try await test.requestReset("ada@example.org")
        return try #require(try await post.next().code)
      }
      let first = try await ask()
      #expect(
        try await test.changePassword(session.access, to: "another password", endingOthers: true).status == 204)
      #expect(try await test.confirmReset(first).code == "link_invalid")
      let third = try await ask()
      let gone = try await test.client.send(
        "DELETE", "/v1/me", token: session.access, headers: ["Content-Type": "application/json"],
        body: Array(#"{"password":"another password"}"#.utf8))
      #expect(gone.status == 204)
      #expect(try await test.confirmReset(third).code == "link_invalid")
    }
  }

  @Test func `mails one address at most once a minute, for any requester`() async throws {
    let post = Post()
    try await TestServer.run(mailer: post) { test in
      _ = try await test.signUp()
      for _ in 0..<3 { #expect(try await test.requestReset("ada@example.org").status == 202) }
      await test.server.lasting.outbox.bell.waitUntilIdle()
      #expect(post.all.count == 1)
      test.clock.advance(by: .seconds(60))
      _ = try await test.requestReset("ADA@example.org")
      await test.server.lasting.outbox.bell.waitUntilIdle()
      #expect(post.all.count == 2)
    }
  }

  @Test func `stores only a hash of the secret, and logs nothing of it`() async throws {
    let post = Post()
    try await TestServer.run(mailer: post) { test in
      _ = try await test.signUp()
      _ = try await test.requestReset("ada@example.org")
      let code = try #require(try await post.next().code)
      let record = try #require(
        try await test.store.oneTimeToken(OneTimeTokenID(of: Secret(code), purpose: .passwordReset)))
      #expect(!"\(record)".contains(code.dropFirst(5)))
      // A secret for one purpose is not valid for another.
      let misuse = try await test.client.post(
        "/v1/sign-up/confirm", json: TestServer.confirmBody(code, device: "x"))
      #expect(misuse.code == "link_invalid")
      for code in ["", "hsl1.", "hsl1.AAAA", String(repeating: "x", count: 5000), code + "A", "hst1.x.y"] {
        #expect(try await test.confirmReset(code).code == "link_invalid")
      }
      #expect(test.metrics.passwordHashes == 1)
      #expect(try await test.confirmReset(code).status == 204)
    }
  }

  @Test func `is not available without a mailer`() async throws {
    try await TestServer.run { test in
      let answer = try await test.requestReset("ada@example.org")
      #expect(answer.status == 403)
      #expect(answer.code == "not_offered")
    }
  }
}
#endif
