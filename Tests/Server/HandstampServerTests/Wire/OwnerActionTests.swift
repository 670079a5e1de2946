#if Programs
import Foundation
import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

/// OWASP ASVS 7.5.2: the lost device may be the second factor.
@Suite(.timeLimit(.minutes(10))) struct `The devices of an account with an authenticator app` {
  private static let attempts = [
    ("DELETE", "/v1/sessions/%"), ("DELETE", "/v1/sessions"), ("POST", "/v1/sessions/end-others"),
  ]

  @Test(arguments: attempts)
  func `are ended with the password, which does no more, and a mail tells of it`(method: String, path: String)
    async throws
  {
    let post = Post()
    try await TestServer.run(mailer: post) {
      $0.accessTokenLife = .seconds(86_400)
      $0.mail.notices = [.sessionsEnded]
    } body: { test in
      let phone = try await test.signUp()
      let laptop = try await test.signIn()
      _ = try await test.addApp(to: laptop)
      test.clock.advance(by: .seconds(3600))
      func end(_ body: String?) async throws -> WireClient.Answer {
        try await test.client.send(
          method, path.replacing("%", with: phone.id), token: laptop.access,
          headers: body == nil ? [:] : ["Content-Type": "application/json"], body: body.map { Array($0.utf8) })
      }
      #expect(try await end(nil).code == "reauthentication_required")
      #expect(try await end(#"{"password":"not this one"}"#).code == "wrong_credentials")
      #expect(try await test.client.get("/v1/me", token: phone.access).status == 200)
      #expect((200..<300).contains(try await end(#"{"password":"\#(TestServer.password)"}"#).status))
      #expect(try await test.client.get("/v1/me", token: phone.access).code == "session_ended")
      #expect(try await post.next().subject == "id.example.org: Devices were signed out of your account")
      // For that request alone: the session itself has proved nothing, and no way in is gone.
      #expect(try await test.server.registry.totp(of: AccountID(laptop.account)) != nil)
      if path != "/v1/sessions" { #expect(try await end(nil).status == 403) }
    }
  }

  @Test func `are ended on the page with the password, and still need both for the rest`() async throws {
    try await TestServer.run(mailer: Post()) {
      $0.accessTokenLife = .seconds(86_400)
    } body: { test in
      let phone = try await test.signUp()
      let browser = try await Browser.signedIn(test)
      _ = try await test.addApp(to: phone)
      test.clock.advance(by: .seconds(3600))
      let one = [("session", phone.id)]
      let asked = try await browser.follow(try await browser.fill("/account/devices", "end", one))
      #expect(asked.title == "Sign out this device?" && asked.text.contains(#"type="password""#))
      let wrong = try await browser.press(
        "end", on: asked, at: "/account/devices", one + [("password", "not this one")])
      #expect(wrong.text.contains("This password is wrong"))
      let done = try await browser.press(
        "end", on: wrong, at: "/account/devices", one + [("password", TestServer.password)])
      #expect(done.text.contains("is signed out."))
      #expect(try await test.client.get("/v1/me", token: phone.access).code == "session_ended")
      let others = try await browser.get("/account/devices/end")
      #expect(others.title == "Sign out everywhere else?" && others.text.contains(#"type="password""#))
      let all = try await browser.press(
        "end-others", on: others, at: "/account/devices/end", [("password", TestServer.password)])
      #expect(all.text.contains("All other devices are signed out."))
      #expect(try await browser.fill("/account/data", "download").title == "Confirm it’s you")
    }
  }
}

/// The response to a browser application that asks for an access token.
private func accessToken(of browser: Browser, _ test: TestServer) async throws -> WireClient.Answer {
  let cookie = browser.cookies[ResponseCookie.session] ?? ""
  return try await test.client.send(
    "POST", "/v1/session/token",
    headers: [
      "Cookie": "\(ResponseCookie.session)=\(cookie)", "Origin": Browser.issuer,
      "X-CSRF-Token": Authenticator.csrfToken(for: cookie),
    ])
}

/// NIST SP 800-63B-4 section 4.2.2.
@Suite(.timeLimit(.minutes(10))) struct `A recovery code of an account with a second factor` {
  private let email = ("email", "ada@example.org")

  /// Runs `body` with an account that has an authenticator app and these recovery codes.
  private func run(
    _ body: (TestServer, Post, TestServer.Session, TOTPSecret, [(String, String)]) async throws -> Void
  ) async throws {
    let post = Post()
    let clients = try TestServer.clients()
    try await TestServer.run(mailer: post) {
      $0.clients = clients
    } body: { test in
      let ada = try await test.signUp()
      let made = try await Browser.signedIn(test).fill("/account/security", "make-codes")
      let codes = made.text.matches(of: /<li><code>([^<]+)<\/code>/).map { ("recovery_code", String($0.output.1)) }
      let app = try await test.addApp(to: ada)
      try await body(test, post, ada, app, codes)
    }
  }

  @Test func `counts beside the password, and lets its user set up another factor alone`() async throws {
    try await run { test, _, ada, lost, codes in
      let browser = Browser(test.client.base)
      let registry = test.server.registry
      let alone = try await browser.fill("/recover", "recover", [email, codes[0]])
      #expect(alone.status == 200 && alone.text.contains("takes a second proof beside it"))
      #expect(try await registry.recoveryCodesLeft(of: AccountID(ada.account)) == RecoveryCode.count, "not used")
      let wrong = try await browser.fill("/recover", "recover", [email, codes[0], ("password", "not this one")])
      #expect(wrong.status == 200 && wrong.text.contains("This password is wrong"))
      let password = ("password", TestServer.password)
      let unknown = try await browser.fill("/recover", "recover", [email, ("recovery_code", "x"), password])
      #expect(unknown.status == 401)
      let back = try await browser.fill("/recover?next=/account/devices", "recover", [email, codes[0], password])
      #expect(back.status == 303 && back.location == Browser.issuer + "/account/security")

      // For everything else the browser is not signed in.
      for path in ["/account", "/account/devices", "/account/data", "/account/delete"] {
        #expect(try await browser.get(path).location?.contains("/sign-in?next=") == true, "\(path)")
      }
      #expect(try await browser.get(OAuthApp().page()).title == "Sign in")
      #expect(try await accessToken(of: browser, test).status == 401)
      #expect(try await browser.get("/v1/me").status == 401)
      for (action, fields) in [
        ("make-codes", []), ("remove-totp", []), ("remove-password", []), ("link", [("provider", "office")]),
        ("change-password", [("current_password", TestServer.password), ("new_password", "another password 7")]),
      ] as [(String, [(String, String)])] {
        let page = try await browser.fill("/account/security", action, fields)
        #expect(page.title == "Confirm it’s you", "\(action)")
      }

      let page = try await browser.fill("/account/security", "add-totp")
      let setup = try #require(page.text.firstMatch(of: /name="setup" value="([^"]+)"/)).output.1
      let id = try await session(browser, test)
      let sealed = try #require(try registry.totpSetup(String(setup), in: id, now: test.clock.now))
      let done = try await browser.press(
        "confirm-totp", on: page, at: "/account/security",
        [("setup", String(setup)), ("code", sealed.secret.code(at: test.clock.now))])
      #expect(done.text.contains("your password needs a code"))
      test.clock.advance(by: .seconds(30))
      #expect(try await test.signIn(code: lost.code(at: test.clock.now)).code == "second_factor_wrong")
      // The user signs in with it, and the session for that goes.
      let asked = try await browser.fill("/account/security", "unlock")
      let half = try await browser.press("sign-in", on: asked, at: "/account/security", [password])
      let proof = try #require(half.text.firstMatch(of: /name="proof" value="([^"]+)"/)).output.1
      let whole = try await browser.press(
        "second-factor", on: half, at: "/account/security",
        [("proof", String(proof)), ("code", sealed.secret.code(at: test.clock.now))])
      #expect(whole.status == 303)
      #expect(try await browser.get("/account").status == 200)
      test.clock.advance(by: .seconds(2 * 3600))
      #expect(try await browser.get("/account").status == 200, "no longer that of the code, which ends soon")
    }
  }

  private func session(_ browser: Browser, _ test: TestServer) async throws -> SessionID {
    let cookie = Secret(browser.cookies[ResponseCookie.session] ?? "")
    return try #require(try await test.server.registry.anyBrowserSession(cookie, now: test.clock.now)).row.id
  }

  @Test func `counts beside a mailed code, each once`() async throws {
    try await run { test, post, ada, _, codes in
      let browser = Browser(test.client.base)
      let wrong = try await browser.fill("/recover", "mail", [email, ("recovery_code", "x")])
      #expect(wrong.status == 401 && post.all.isEmpty)
      #expect(try await browser.fill("/recover", "mail", [email, codes[0]]).title == "Check your mail")
      let link = try #require(try await post.next().link)
      let token = ("token", String(link.dropFirst("/recover?token=".count)))
      let eve = try await test.signUp("eve@example.org", device: "hers")
      let other = try await Browser(test.client.base).fill(
        link, "recover", [("email", "eve@example.org"), codes[0], token])
      #expect(other.status == 400, "\(eve.account)")
      #expect(try await Browser(test.client.base).fill(link, "recover", [email, codes[0], token]).status == 303)
      #expect(try await Browser(test.client.base).fill(link, "recover", [email, codes[1], token]).status == 400)
      #expect(try await test.server.registry.recoveryCodesLeft(of: AccountID(ada.account)) == RecoveryCode.count - 1)
    }
  }

  @Test func `alone is one factor where nothing asks for two`() async throws {
    try await TestServer.run(mailer: Post()) { test in
      _ = try await test.signUp()
      let made = try await Browser.signedIn(test).fill("/account/security", "make-codes")
      let code = try #require(made.text.firstMatch(of: /<li><code>([^<]+)<\/code>/)).output.1
      let browser = Browser(test.client.base)
      let next = "/recover?next=/account/devices"
      let back = try await browser.fill(next, "recover", [email, ("recovery_code", String(code))])
      #expect(back.location == Browser.issuer + "/account/devices")
      #expect(try await browser.get("/account").status == 200)
    }
  }
}

/// OpenID Connect Core 1.0 sections 3.1.2.1 and 3.1.3.7.
@Suite(.timeLimit(.minutes(10))) struct `A provider that does not say when a user signed in` {
  /// A server at whose provider Ada signs in; the ID token has `auth_time` if that says so.
  private func run(
    hasMail: Bool = true, isGitHub: Bool = false,
    _ body: (TestServer, Post, _ signIn: (Browser, String, Bool) async throws -> Browser.BrowserResponse) async throws
      -> Void
  ) async throws {
    let (post, provider, clock) = (Post(), ScriptedProvider(), TestClock())
    let world = try UpstreamWorld(provider, clock: clock)
    try await TestServer.run(clock: clock, mailer: hasMail ? post : nil, transport: provider) {
      var settings = UpstreamProvider(
        id: "office", name: "Work", issuer: ScriptedProvider.issuer, clientID: "forum",
        clientSecret: Secret("client-secret"))
      if isGitHub {
        var mapping = UserInfoMapping()
        mapping.authorizationEndpoint = ScriptedProvider.issuer + "/authorize"
        mapping.tokenEndpoint = ScriptedProvider.issuer + "/token"
        mapping.userInfoEndpoint = ScriptedProvider.issuer + "/me"
        (mapping.id, mapping.emailVerified) = ("sub", "email_verified")
        settings.userInfo = mapping
      }
      settings.trustsEmail = true
      $0.providers = [settings]
    } body: { test in
      try await body(test, post) { browser, path, isDated in
        let sent = try await browser.press(
          "provider", on: try await browser.get(path), at: path, [("provider", "office")])
        let url = String((sent.header("refresh") ?? "").dropFirst("0; url=".count))
        let items = URLComponents(string: url)?.queryItems ?? []
        func field(_ name: String) -> String { items.first { $0.name == name }?.value ?? "" }
        #expect(isGitHub || path == "/sign-in" || field("max_age") == "0", "\(path): \(sent.title)")
        provider.set {
          $0.idToken = world.token([
            "nonce": #""\#(field("nonce"))""#, "email": #""ada@example.org""#, "email_verified": "true",
            "auth_time": isDated ? String(test.clock.now.seconds) : "",
          ])
        }
        let back = [("code", "c"), ("state", field("state")), ("iss", ScriptedProvider.issuer)]
        return try await browser.get(Browser.path("/sign-in/with/office/callback", back))
      }
    }
  }

  private func options(_ browser: Browser) async throws -> Int {
    let token = try await browser.get("/account/security").csrf ?? ""
    return try await browser.send("POST", "/account/passkey/options", headers: ["X-CSRF-Token": token]).status
  }

  @Test(arguments: [false, true])
  func `proves nothing for a way in; a mailed link does`(isGitHub: Bool) async throws {
    try await run(isGitHub: isGitHub) { test, post, signIn in
      let browser = Browser(test.client.base)
      #expect(try await signIn(browser, "/sign-in", false).status == 303)
      #expect(try await options(browser) == 403, "with a sign-in of now")
      let asked = try await browser.fill("/account/security", "unlock")
      #expect(asked.title == "Confirm it’s you" && asked.text.contains("Send me a mail"))
      #expect(asked.text.contains("Continue with Work") != isGitHub)
      if !isGitHub {
        #expect(try await signIn(browser, "/account/security", false).status == 303)
        #expect(try await options(browser) == 403, "a person at an unlocked browser gets there")
      }
      #expect(try await browser.fill("/account/data", "download").title == "Confirm it’s you")
      #expect(try await browser.get("/account/delete").title == "Confirm it’s you")
      let sent = try await browser.fill("/account/security", "mail-link")
      #expect(sent.title == "Check your mail")
      let link = try #require(try await post.next().link)
      let token = ("token", String(link.dropFirst("/account/confirm?token=".count)))
      #expect(try await Browser(test.client.base).get(link).location?.contains("/sign-in?next=") == true)
      #expect(try await browser.fill(link, "prove", [("token", "hsl1.no")]).status == 400)
      #expect(try await browser.fill(link, "prove", [token]).status == 303)
      #expect(try await options(browser) == 200)
      #expect(try await browser.fill(link, "prove", [token]).status == 400, "once")
    }
  }

  @Test func `is believed when it says so`() async throws {
    try await run { test, _, signIn in
      let browser = Browser(test.client.base)
      _ = try await signIn(browser, "/sign-in", false)
      #expect(try await options(browser) == 403)
      _ = try await signIn(browser, "/account/security", true)
      #expect(try await options(browser) == 200)
    }
  }

  @Test func `is all that an account without a mail has`() async throws {
    try await run(hasMail: false) { test, _, signIn in
      let browser = Browser(test.client.base)
      _ = try await signIn(browser, "/sign-in", false)
      #expect(try await options(browser) == 200)
      test.clock.advance(by: .seconds(3600))
      #expect(try await options(browser) == 403)
      _ = try await signIn(browser, "/account/security", false)
      #expect(try await options(browser) == 200)
    }
  }

  @Test func `proves nothing in an app either, which asks for a mailed code`() async throws {
    try await run { test, post, signIn in
      let browser = Browser(test.client.base)
      _ = try await signIn(browser, "/sign-in", false)
      let token: String = try #require(try await accessToken(of: browser, test).json["access_token"])
      func add(_ token: String) async throws -> WireClient.Answer {
        try await test.client.post("/v1/passkeys/options", token: token, json: "")
      }
      #expect(try await add(token).code == "reauthentication_required")
      #expect(try await test.client.send("DELETE", "/v1/me", token: token).code == "reauthentication_required")
      #expect(try await test.client.post("/v1/reauthenticate/mail", token: token, json: "").status == 202)
      let code = try #require(try await post.next().code)
      func prove(_ code: String) async throws -> WireClient.Answer {
        try await test.client.post("/v1/reauthenticate", token: token, json: #"{"mailed_code":"\#(code)"}"#)
      }
      #expect(try await prove("hsl1.no").code == "link_invalid")
      let proof: String = try #require(try await prove(code).json["access_token"])
      #expect(try await prove(code).code == "link_invalid")
      #expect(try await add(proof).status == 200)
      #expect(try await test.client.send("DELETE", "/v1/me", token: proof).status == 204)
    }
  }

  @Test func `is no reason for a mailed code where the account has a factor of its own`() async throws {
    try await TestServer.run(mailer: Post()) { test in
      let ada = try await test.signUp()
      let answer = try await test.client.post("/v1/reauthenticate/mail", token: ada.access, json: "")
      #expect(answer.status == 403 && answer.code == "not_offered")
    }
  }
}
#endif
