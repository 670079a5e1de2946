#if Programs
import Foundation
import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A sign-in with an authenticator app` {
  @Test func `takes the code after the right password, each code once`() async throws {
    try await TestServer.run { test in
      let ada = try await test.signUp()
      let app = try await test.addApp(to: ada)
      let code = app.code(at: test.clock.now)
      for missing in [nil, ""] as [String?] {
        let asked = try await test.signIn(code: missing)
        #expect(asked.status == 401 && asked.code == "second_factor_required")
        #expect(asked.json["detail"] != nil as String?)
      }
      // Without the right password, it is not said that there is an app.
      #expect(try await test.signIn(code: nil, password: "wrong").code == "wrong_credentials")
      #expect(try await test.signIn(code: code, password: "wrong").code == "wrong_credentials")
      for wrong in ["000000", "12345", "abcdef", String(code.reversed()) + "1"] where wrong != code {
        let refused = try await test.signIn(code: wrong)
        #expect(refused.status == 401 && refused.code == "second_factor_wrong", "\(wrong)")
      }
      let right = try await test.signIn(code: code)
      #expect(right.status == 200)
      #expect(right.claims("access_token")["amr"] == ["pwd", "otp", "mfa"])
      #expect(try await test.signIn(code: code, device: "tablet").code == "second_factor_wrong")
      test.clock.advance(by: .seconds(30))
      #expect(try await test.signIn(code: app.code(at: test.clock.now), device: "tablet").status == 200)
      // The other sessions go on.
      #expect(try await test.client.get("/v1/me", token: ada.access).status == 200)
    }
  }

  @Test func `that is repeated with the same key and code gets the same session`() async throws {
    try await TestServer.run { test in
      let app = try await test.addApp(to: try await test.signUp())
      let (code, key) = (app.code(at: test.clock.now), RotationKey.fresh.wireText.withExposed { $0 })
      let first = try TestServer.Session(try await test.signIn(code: code, key: key))
      let again = try TestServer.Session(try await test.signIn(code: code, key: key))
      #expect(first.id == again.id)
      let other = RotationKey.fresh.wireText.withExposed { $0 }
      #expect(try await test.signIn(code: code, key: other).code == "second_factor_wrong")
      _ = try await test.client.get("/v1/me", token: first.access)
      // Used: the same request begins no session and shows none.
      #expect(try await test.signIn(code: code, key: key).status != 200)
    }
  }

  @Test func `bounds the guesses of codes, and spares the device that the owner has used`() async throws {
    let post = Post()
    try await TestServer.run(mailer: post) { test in
      let ada = try await test.signUp()
      let app = try await test.addApp(to: ada)
      #expect(try await test.signIn(code: app.code(at: test.clock.now), device: "laptop").status == 200)
      for _ in 0..<GuessCount.free {
        #expect(try await test.signIn(code: "12345", device: "thief").code == "second_factor_wrong")
      }
      test.clock.advance(by: .seconds(1))
      func right() -> String { app.code(at: test.clock.now.advanced(by: .seconds(30))) }
      #expect(try await test.signIn(code: right(), device: "thief").code == "rate_limited")
      #expect(try await test.signIn(code: right(), device: "other thief").code == "rate_limited")
      #expect(try await test.signIn(code: right(), device: "laptop").status == 200)
      // Who reads the mails does not get more guesses by a new password.
      let record = try #require(try await test.server.registry.account(AccountID(ada.account)))
      let reset = try await test.mailedReset(of: record)
      let new = "a new password 7"
      let answer = try await test.client.post(
        "/v1/password-reset/confirm", json: #"{"token":"\#(reset)","new_password":"\#(new)"}"#)
      #expect(answer.status == 204)
      #expect(try await test.signIn(code: nil, password: new, device: "thief").code == "second_factor_required")
      #expect(try await test.signIn(code: "12345", password: new, device: "thief").code == "rate_limited")
      test.clock.advance(by: GuessCount.pause)
      #expect(
        try await test.signIn(code: right(), password: new, device: "thief").status == 200, "after the pause")
    }
  }

  @Test func `proves it again with both, and says 403 to who is signed in`() async throws {
    try await TestServer.run {
      $0.accessTokenLife = .seconds(86_400)
    } body: { test in
      let ada = try await test.signUp()
      let app = try await test.addApp(to: ada)
      func prove(_ more: String) async throws -> WireClient.Answer {
        try await test.client.post(
          "/v1/reauthenticate", token: ada.access, json: #"{"password":"\#(TestServer.password)"\#(more)}"#)
      }
      let asked = try await prove("")
      #expect(asked.status == 403 && asked.code == "second_factor_required")
      let wrong = try await prove(#","code":"12345""#)
      #expect(wrong.status == 403 && wrong.code == "second_factor_wrong")
      let code = app.code(at: test.clock.now)
      #expect(try await prove(#","code":"\#(code)""#).status == 200)
      #expect(try await prove(#","code":"\#(code)""#).code == "second_factor_wrong")
    }
  }

  @Test func `of a browser application takes it as well`() async throws {
    try await TestServer.run { test in
      let app = try await test.addApp(to: try await test.signUp())
      func begin(_ more: String) async throws -> WireClient.Answer {
        try await test.client.send(
          "POST", "/v1/session", headers: ["Content-Type": "application/json", "Origin": "https://id.example.org"],
          body: Array(#"{"email":"ada@example.org","password":"\#(TestServer.password)"\#(more)}"#.utf8))
      }
      #expect(try await begin("").code == "second_factor_required")
      #expect(try await begin(#","code":"\#(app.code(at: test.clock.now))""#).status == 200)
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `An authenticator app on the pages` {
  private func field(_ name: String, of page: Browser.BrowserResponse) throws -> String {
    let parts = page.text.components(separatedBy: #"name="\#(name)" value=""#)
    return try #require(parts.count > 1 ? parts[1].components(separatedBy: "\"").first : nil)
  }

  private func enter(
    _ code: String, _ browser: Browser, on page: Browser.BrowserResponse, at path: String = "/sign-in"
  ) async throws -> Browser.BrowserResponse {
    try await browser.press(
      "second-factor", on: page, at: path, [("proof", try field("proof", of: page)), ("code", code)])
  }

  @Test func `is set up with the app of others, asked for, and removed`() async throws {
    let post = Post()
    try await TestServer.run(mailer: post) {
      $0.mail.notices = [.totpAdded, .totpRemoved]
    } body: { test in
      let ada = try await test.signUp()
      let browser = try await Browser.signedIn(test)
      let page = try await browser.fill("/account/security", "add-totp")
      #expect(page.title == "Set up an authenticator app")
      let app = try await AuthenticatorApp(scanning: page.text)
      let key = try #require(page.text.firstMatch(of: /<code class="secret"[^>]*>([A-Z2-7 ]+)<\/code>/)).output.1
      #expect(app.uri.contains("secret=\(key.replacing(" ", with: ""))&"))
      let shown = try await app.answer(at: test.clock.now)
      #expect(shown["name"] == "ada@example.org")
      let setup = try field("setup", of: page)
      let wrong = try await browser.press(
        "confirm-totp", on: page, at: "/account/security", [("setup", setup), ("code", "12345")])
      #expect(wrong.title == "Set up an authenticator app" && wrong.text.contains("This code is wrong"))
      #expect(try field("setup", of: wrong) == setup)
      #expect(try await test.server.registry.totp(of: AccountID(ada.account)) == nil)
      let code: String = try #require(shown["code"])
      let done = try await browser.press(
        "confirm-totp", on: page, at: "/account/security", [("setup", setup), ("code", code)])
      #expect(done.text.contains("your password needs a code"))
      // With the codes for the day on which it is lost.
      #expect(done.text.matches(of: /<li><code>[^<]+<\/code>/).count == RecoveryCode.count)
      #expect(try await post.next().subject == "id.example.org: An authenticator app was added to your account")

      test.clock.advance(by: .seconds(30))
      let other = Browser(test.client.base)
      let asked = try await other.signIn(at: "/sign-in")
      #expect(asked.title == "Enter your code")
      #expect(try await other.get("/account").status == 303, "not signed in")
      let refused = try await enter("12345", other, on: asked)
      #expect(refused.status == 401 && refused.text.contains("This code is wrong"))
      let next: String = try #require(try await app.answer(at: test.clock.now)["code"])
      let entered = try await enter(next, other, on: refused)
      #expect(entered.status == 303)
      #expect(try await other.get("/account").status == 200)
      let third = Browser(test.client.base)
      #expect(try await enter(next, third, on: try await third.signIn(at: "/sign-in")).status == 401, "used")

      let removed = try await other.fill("/account/security", "remove-totp")
      #expect(removed.text.contains("The authenticator app is removed"))
      #expect(try await post.next().subject == "id.example.org: The authenticator app was removed from your account")
      #expect(try await test.signIn(code: nil).status == 200)
      let actions = try await test.store.auditedActions(after: 0, about: nil, limit: 1000).map(\.audited.action)
      #expect(actions.contains("totp.added") && actions.contains("totp.removed"))
    }
  }

  @Test func `is asked for by the page of an app, and where the user confirms`() async throws {
    let clients = try TestServer.clients()
    try await TestServer.run {
      $0.clients = clients
    } body: { test in
      let app = try await test.addApp(to: try await test.signUp())
      let (browser, path) = (Browser(test.client.base), OAuthApp().page())
      let asked = try await browser.signIn(at: path)
      #expect(asked.title == "Enter your code")
      let back = try await enter(app.code(at: test.clock.now), browser, on: asked, at: path)
      #expect(back.status == 303)
      test.clock.advance(by: .seconds(3600))
      let confirm = try await browser.fill("/account/security", "unlock")
      #expect(confirm.title == "Confirm it’s you")
      let half = try await browser.press(
        "sign-in", on: confirm, at: "/account/security", [("password", TestServer.password)])
      #expect(half.title == "Enter your code")
      #expect(try await browser.fill("/account/security", "unlock").title == "Confirm it’s you")
      let whole = try await enter(app.code(at: test.clock.now), browser, on: half, at: "/account/security")
      #expect(whole.status == 303)
      #expect(try await browser.fill("/account/security", "unlock").status == 303)
    }
  }

  @Test func `takes the password in the same browser, within ten minutes, while it is the password`() async throws {
    try await TestServer.run(mailer: Post()) { test in
      let ada = try await test.signUp()
      let app = try await test.addApp(to: ada)
      let (owner, thief) = (Browser(test.client.base), Browser(test.client.base))
      let asked = try await owner.signIn(at: "/sign-in")
      let proof = try field("proof", of: asked)
      func attempt(_ browser: Browser, _ proof: String) async throws -> Int {
        let page = try await browser.get("/sign-in")
        return try await browser.press(
          "second-factor", on: page, at: "/sign-in", [("proof", proof), ("code", app.code(at: test.clock.now))]
        ).status
      }
      #expect(try await attempt(thief, proof) == 200, "another browser signs in again")
      let parts = proof.split(separator: ".").map(String.init)
      for forged in ["", "..", parts[0], "\(parts[0]).\(parts[1]).", "\(parts[0]).9999999999.\(parts[2])", proof + "A"]
      {
        #expect(try await attempt(owner, forged) == 200, "\(forged)")
      }
      test.clock.advance(by: .seconds(601))
      #expect(try await attempt(owner, proof) == 200, "too late")
      let again = try field("proof", of: try await owner.signIn(at: "/sign-in"))
      let access: String = try #require(
        try await test.refresh(ada.refresh, key: .fresh).json["access_token"])
      let code = app.code(at: test.clock.now)
      let changed = try await test.client.post(
        "/v1/password", token: access,
        json: #"{"current":"\#(TestServer.password)","new":"another password 7","end_others":false,"code":"\#(code)"}"#)
      #expect(changed.status == 204)
      test.clock.advance(by: .seconds(30))
      #expect(try await attempt(owner, again) == 200, "another password")
      #expect(try await test.server.registry.sessions(of: AccountID(ada.account), now: test.clock.now).count == 1)
    }
  }

  @Test func `is replaced with a recovery code, and does not go with a new password by mail`() async throws {
    let post = Post()
    try await TestServer.run(mailer: post) { test in
      let ada = try await test.signUp()
      let browser = try await Browser.signedIn(test)
      let codes = try await browser.fill("/account/security", "make-codes")
      let recovery = try #require(codes.text.firstMatch(of: /<li><code>([^<]+)<\/code>/)).output.1
      _ = try await test.addApp(to: ada)
      let stranger = Browser(test.client.base)
      let fields = [("email", "ada@example.org"), ("recovery_code", String(recovery))]
      #expect(try await stranger.fill("/recover", "recover", fields).status == 200, "beside the password alone")
      #expect(
        try await stranger.fill("/recover", "recover", fields + [("password", TestServer.password)]).status == 303)
      let record = try #require(try await test.server.registry.account(AccountID(ada.account)))
      let reset = try await test.mailedReset(of: record)
      let page = "/reset-password?token=\(reset)"
      let new = "a new password 7"
      _ = try await Browser(test.client.base).fill(page, "reset", [("token", reset), ("new_password", new)])
      #expect(try await test.signIn(code: nil, password: new).code == "second_factor_required")
      #expect(try await Browser(test.client.base).signIn(at: "/sign-in", password: new).title == "Enter your code")
    }
  }

  @Test func `that a stranger set up with the owner's address goes with the owner's first mailed code`() async throws {
    try await TestServer.run(mailer: Post()) { test in
      let mallory = try await test.signUp()
      let browser = try await Browser.signedIn(test)
      let codes = try await browser.fill("/account/security", "make-codes")
      let recovery = try #require(codes.text.firstMatch(of: /<li><code>([^<]+)<\/code>/)).output.1
      _ = try await test.addApp(to: mallory)
      let record = try #require(try await test.server.registry.account(AccountID(mallory.account)))
      let reset = try await test.mailedReset(of: record, isFirst: true)
      let page = "/reset-password?token=\(reset)"
      let owner = Browser(test.client.base)
      let shown = try await owner.get(page)
      #expect(shown.text.contains("your authenticator app") && !shown.text.contains("keep_passkeys"))
      let new = "a new password 7"
      // Nothing can be kept, also by who says that it is the owner's.
      let fields = [("token", reset), ("new_password", new), ("keep_passkeys", "yes")]
      _ = try await owner.fill(page, "reset", fields)
      #expect(try await test.signIn(code: nil, password: new).status == 200)
      let way = [("email", "ada@example.org"), ("recovery_code", String(recovery))]
      #expect(try await Browser(test.client.base).fill("/recover", "recover", way).status != 303)
      #expect(try await test.refresh(mallory.refresh, key: .fresh).status == 400)
      // The next one is no first proof any more.
      let after = try #require(try await test.server.registry.account(AccountID(mallory.account)))
      #expect(after.emailConfirmedAt != nil)
    }
  }

  @Test func `is not for accounts without a password, and its form is of one session`() async throws {
    try await TestServer.run { test in
      let ada = try await test.signUp()
      let (one, two) = (try await Browser.signedIn(test), try await Browser.signedIn(test))
      let setup = try field("setup", of: try await one.fill("/account/security", "add-totp"))
      let late = try await two.fill("/account/security", "confirm-totp", [("setup", setup), ("code", "123456")])
      #expect(late.text.contains("Start again"))
      var record = try #require(try await test.server.registry.account(AccountID(ada.account)))
      record.passwordHash = nil
      _ = try await test.server.registry.update(record)
      #expect(try await one.fill("/account/security", "add-totp").status == 403)
      #expect(try await one.get("/account/security").text.contains("add-totp") == false)
    }
  }

  @Test func `is shown to administrators, removed by them, and its secret is in no export`() async throws {
    try await AdministeredServer.run { admin, test in
      let ada = try await test.signUp()
      let app = try await test.addApp(to: ada)
      let credentials = try await admin.get("/accounts/\(ada.account)/credentials")
      #expect(credentials.json[object: "authenticator_app"]["created_at"] != nil as String?)
      let export = try await admin.get("/accounts/\(ada.account)/export")
      let sealed = try #require(try await test.server.registry.totp(of: AccountID(ada.account))).sealed
      for secret in [app.text.withExposed { $0 }, sealed] {
        #expect(!String(decoding: export.body, as: UTF8.self).contains(secret))
      }
      #expect(try await test.signIn(code: nil).code == "second_factor_required")
      #expect(try await admin.send("DELETE", "/accounts/\(ada.account)/authenticator-app").status == 204)
      #expect(try await admin.send("DELETE", "/accounts/\(ada.account)/authenticator-app").status == 404)
      #expect(try await test.signIn(code: nil).status == 200)
      #expect(try await admin.actions().contains("totp.removed"))
    }
  }
}
#endif
