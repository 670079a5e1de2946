#if Programs
import HandstampCore
import Testing

@testable import HandstampServer

/// OpenID Connect Core 1.0 section 3.1.2.1, and RFC 8707.
@Suite(.timeLimit(.minutes(10))) struct `An app's wish for a sign-in` {
  private func path(_ more: [(String, String)]) -> String {
    var app = OAuthApp()
    app.more = more
    return app.page()
  }

  /// Signs in on a page, and loads the page that the server leads to.
  private func signIn(_ browser: Browser, on page: Browser.BrowserResponse, at path: String) async throws -> (
    page: Browser.BrowserResponse, path: String
  ) {
    let answer = try await browser.press(
      "sign-in", on: page, at: path, [("email", "ada@example.org"), ("password", TestServer.password)])
    #expect(answer.status == 303)
    let next = String(try #require(answer.location).dropFirst("https://id.example.org".count))
    return (try await browser.get(next), next)
  }

  @Test(arguments: [
    [("prompt", "login")], [("prompt", "select_account login consent")], [("max_age", "0")],
    [("max_age", "59")], [("prompt", "login"), ("max_age", "59")],
  ])
  func `is met by one more sign-in`(wish: [(String, String)]) async throws {
    try await TestServer.runOAuth { test in
      let browser = Browser(test.client.base)
      _ = try await browser.signIn(at: OAuthApp().page())
      let previous = browser.cookies[ResponseCookie.session]
      test.clock.advance(by: .seconds(60))
      let path = path(wish)
      let page = try await browser.get(path)
      #expect(page.title == "Sign in")
      // The web session of before does not do, even for a form that is sent without its page.
      let forced = try await browser.press("allow", on: page, at: path)
      #expect(forced.title == "Sign in")
      #expect(forced.location == nil)
      let consent = try await signIn(browser, on: page, at: path)
      #expect(consent.page.title.hasPrefix("Allow "))
      #expect(browser.cookies[ResponseCookie.session] != previous)
      test.clock.advance(by: .seconds(60))
      let back = try await browser.press("allow", on: consent.page, at: consent.path)
      #expect(try await OAuthApp().redeem(back.fields["code"] ?? "", at: test).status == 200)
      #expect(back.fields["state"] == "s t&a=te")
    }
  }

  @Test(arguments: [
    [("max_age", "60")], [("prompt", "consent")], [("prompt", "select_account")],
    [("prompt", "consent select_account")],
    [("max_age", "999999999999999999")],
  ])
  func `is met by the sign-in of before`(wish: [(String, String)]) async throws {
    try await TestServer.runOAuth { test in
      let browser = Browser(test.client.base)
      _ = try await browser.signIn(at: OAuthApp().page())
      test.clock.advance(by: .seconds(60))
      let path = path(wish)
      let page = try await browser.get(path)
      #expect(page.title.hasPrefix("Allow "))
      #expect(page.text.contains("Use another account"))
      #expect(try await browser.press("allow", on: page, at: path).fields["code"] != nil)
    }
  }

  @Test func `for none at all is answered without a page`() async throws {
    try await TestServer.runOAuth { test in
      let browser = Browser(test.client.base)
      func error(_ wish: [(String, String)]) async throws -> String? {
        let back = try await browser.get(path(wish))
        #expect(back.status == 303)
        #expect(back.fields["iss"] == "https://id.example.org")
        #expect(back.fields["state"] == "s t&a=te")
        return back.fields["error"]
      }
      #expect(try await error([("prompt", "none")]) == "login_required")
      let page = try await browser.signIn(at: OAuthApp().page())
      #expect(try await error([("prompt", "none")]) == "consent_required")
      let forced = try await browser.press("allow", on: page, at: path([("prompt", "none")]))
      #expect(forced.fields["error"] == "consent_required")
      #expect(forced.fields["code"] == nil)
      test.clock.advance(by: .seconds(61))
      #expect(try await error([("prompt", "none"), ("max_age", "60")]) == "login_required")
    }
  }

  @Test(arguments: [
    [("prompt", "LOGIN")], [("prompt", "create")], [("prompt", "none login")], [("prompt", "login,consent")],
    [("max_age", "-1")], [("max_age", "1.5")], [("max_age", "ten")], [("max_age", "1e3")],
    [("max_age", "9999999999999999999")], [("max_age", "+1")], [("max_age", "\u{661}")],
  ])
  func `that the server does not know is refused`(wish: [(String, String)]) async throws {
    try await TestServer.runOAuth { test in
      let back = try await Browser(test.client.base).get(path(wish))
      #expect(back.status == 303)
      #expect(back.fields["error"] == "invalid_request")
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A request for several resources` {
  @Test func `is refused at every endpoint, and changes nothing`() async throws {
    try await TestServer.runOAuth { test in
      let api = "https://api.example.org"
      let both = [("resource", api), ("resource", "https://other.example.org")]
      var app = OAuthApp()
      let browser = Browser(test.client.base)
      let code = try await app.code(browser)
      app.more = both
      let back = try await browser.get(app.page())
      #expect(back.status == 303)
      #expect(back.fields["error"] == "invalid_target")
      #expect(back.fields["error_description"] == "request a token for one resource at a time")
      app.more = []
      let device = try await test.oauth("/oauth/device_authorization", [("client_id", "app")] + both)
      #expect(device.json["error"] == "invalid_target")
      let redeeming = [
        ("grant_type", "authorization_code"), ("client_id", app.id), ("code", code), ("redirect_uri", app.redirect),
        ("code_verifier", app.verifier),
      ]
      #expect(try await test.oauth("/oauth/token", redeeming + both).json["error"] == "invalid_target")
      let foreign = try await test.oauth("/oauth/token", redeeming + [("resource", "https://evil.example.org")])
      #expect(foreign.json["error"] == "invalid_target")
      // The code was not used up, and begins a session with a token for the one API that it asks for.
      let answer = try await test.oauth("/oauth/token", redeeming + [("resource", api)])
      let session = try TestServer.Session(answer)
      #expect(try await test.introspect(session.access).json["aud"] == api)
      #expect(try await app.refresh(session.refresh, at: test, both).json["error"] == "invalid_target")
      #expect(try await app.refresh(session.refresh, at: test).status == 200)
    }
  }

  @Test func `is refused to a device that polls`() async throws {
    try await TestServer.runOAuth { test in
      let codes = try await test.oauth("/oauth/device_authorization", [("client_id", "app"), ("scope", "profile")])
      let polling = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"), ("client_id", "app"),
        ("device_code", codes.json["device_code"] ?? ""),
      ]
      for (resource, error) in [
        ("https://evil.example.org", "invalid_target"), ("https://api.example.org", "authorization_pending"),
      ] {
        test.clock.advance(by: .seconds(5))
        let answer = try await test.oauth("/oauth/token", polling + [("resource", resource)])
        #expect(answer.json["error"] == error)
      }
    }
  }
}
#endif
