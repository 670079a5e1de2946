#if Programs
import Foundation
import HandstampCore
import HandstampRegistry
import Testing

@testable import HandstampServer

/// Browsers, password managers and privacy extensions as they are.
@Suite(.timeLimit(.minutes(10))) struct `A form from the field` {
  /// A password manager submits the form itself, so that no button is in it.
  @Test func `that was sent without its button does what it is for`() async throws {
    let post = Post()
    try await TestServer.run(mailer: post) { test in
      _ = try await test.signUp()
      let browser = Browser(test.client.base)
      let page = try await browser.get("/sign-in")
      #expect(page.text.contains(#"name="main" value="sign-in""#))
      let answer = try await browser.post(
        "/sign-in",
        [
          ("csrf", page.csrf ?? ""), ("main", "sign-in"), ("email", "ada@example.org"),
          ("password", TestServer.password),
        ])
      #expect(answer.status == 303)
      let forgot = try await browser.get("/forgot-password")
      let sent = try await browser.post(
        "/forgot-password", [("csrf", forgot.csrf ?? ""), ("main", "send"), ("email", "ada@example.org")])
      #expect(sent.status == 200 && !sent.text.contains("expired"))
      #expect(try await post.next().text.contains("token="))
    }
  }

  @Test func `of a second tab goes on after signing in in the first`() async throws {
    try await TestServer.run { test in
      _ = try await test.signUp()
      let browser = Browser(test.client.base)
      let second = try await browser.get("/sign-in?next=%2Faccount%2Fdevices")
      _ = try await browser.signIn(at: "/sign-in")
      let fields = [("csrf", second.csrf ?? ""), ("email", "ada@example.org"), ("password", TestServer.password)]
      let answer = try await browser.post("/sign-in?next=%2Faccount%2Fdevices", fields + [("action", "sign-in")])
      #expect(
        answer.status == 303 && answer.location == Browser.issuer + "/account/devices",
        "\(answer.status) \(answer.text)")
      // Without a session, an old form leads to a new one.
      let stranger = Browser(test.client.base)
      _ = try await stranger.get("/sign-in")
      let old = try await stranger.post("/sign-in", fields + [("action", "sign-in")])
      #expect(old.status == 303 && old.location == Browser.issuer + "/sign-in")
    }
  }

  @Test(
    arguments: [
      ("null", "same-origin", true), ("null", "cross-site", false), ("null", "same-site", false), ("null", nil, false),
      ("https://id.example.org", "same-origin", true), ("https://evil.example.org", "same-origin", false),
      ("null", "none", false),
    ] as [(String, String?, Bool)])
  func `whose origin is hidden is judged by where the browser says that it comes from`(
    origin: String, site: String?, isGood: Bool
  ) async throws {
    try await TestServer.run { test in
      _ = try await test.signUp()
      let browser = Browser(test.client.base)
      let page = try await browser.get("/sign-in")
      var headers = ["Origin": origin]
      headers["Sec-Fetch-Site"] = site
      let fields = [("email", "ada@example.org"), ("password", TestServer.password), ("action", "sign-in")]
      let answer = try await browser.post("/sign-in", fields + [("csrf", page.csrf ?? "")], headers: headers)
      #expect((answer.status == 303) == isGood, "\(answer.status)")
      guard isGood else { return }
      let forged = Browser(test.client.base)
      _ = try await forged.get("/sign-in")
      let other = try await forged.post("/sign-in", fields + [("csrf", "x")], headers: headers)
      #expect(other.location == Browser.issuer + "/sign-in")
    }
  }

  @Test func `with an address that is spelled otherwise leads to the same account`() async throws {
    let other = #""Ada"@ｅxample。ORG"#
    try await TestServer.run { test in
      _ = try await test.signUp()
      let body = TestServer.signUpBody(other.replacing("\"", with: "\\\""))
      #expect(try await test.client.post("/v1/sign-up", json: body).code == "email_taken")
      let browser = Browser(test.client.base)
      _ = try await browser.signIn(at: "/sign-in", as: other)
      #expect(try await browser.get("/account").text.contains("ada@example.org"))
    }
  }

  @Test func `counts no attempt of which nothing is left`() async throws {
    try await TestServer.run(mailer: Post()) {
      $0.limits[.codes].perAddress = RateLimit(burst: 1, every: .seconds(3600))
      $0.limits[.passwords].perAddress = RateLimit(burst: 3, every: .seconds(3600))
    } body: { test in
      let app = try await test.addApp(to: try await test.signUp())
      for typed in ["", " \n", "–", "https://elsewhere.example/reset-password?token=hsl1.AAAA"] {
        let body = #"{"token":"\#(typed.replacing("\n", with: "\\n"))","new_password":"a long enough one"}"#
        #expect(try await test.client.post("/v1/password-reset/confirm", json: body).code == "link_invalid")
        let way = [("email", "ada@example.org"), ("recovery_code", typed)]
        #expect(try await Browser(test.client.base).fill("/recover", "recover", way).status != 429)
        #expect(try await Browser(test.client.base).signIn(at: "/sign-in", as: "a\u{200B}da@example.org").status == 200)
      }
      // One each for the password, and none for its code.
      #expect(try await test.signIn(code: " - ").code == "second_factor_wrong")
      let code = app.code(at: test.clock.now)
      #expect(try await test.signIn(code: "\(code.prefix(3))\u{2013}\(code.suffix(3))\u{200B}").status == 200)
    }
  }

  @Test(arguments: ["ada@example.org.", "a@b@example.org"])
  func `with another spelling of a mailbox makes no second account`(email: String) async throws {
    try await TestServer.run { test in
      let answer = try await test.client.post("/v1/sign-up", json: TestServer.signUpBody(email))
      #expect(answer.status == 422 || answer.status == 400, "\(answer.status)")
      // Whose account has such an address from before signs in as before.
      _ = try await test.signUp()
      let known = try #require(EmailAddress("ada@example.org"))
      var record = try #require(
        try await test.server.registry.account(email: known))
      record.email = EmailAddress(composed: email)
      _ = try await test.server.registry.update(record)
      let signIn = try await test.client.post("/v1/sign-in", json: TestServer.signInBody(email))
      #expect(signIn.status == 200, "\(signIn.status)")
    }
  }
}
#endif
