#if Programs
import Foundation
import HandstampCore
import HandstampSupport
import HandstampTesting
import HTTPTypes
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A browser's session` {
  /// Signs in with Ada's browser on a page of the server.
  private func browser(_ test: TestServer) async throws -> Browser {
    let browser = Browser(test.client.base)
    _ = try await browser.signIn(at: "/device")
    return browser
  }

  private func isSignedIn(_ browser: Browser) async throws -> Bool {
    try await browser.get("/device").title != "Sign in"
  }

  @Test func `is listed among the devices, and ended from there`() async throws {
    try await TestServer.runOpenID { test in
      let phone = try await test.signIn()
      let browser = try await browser(test)
      _ = try await OAuthApp.party().tokens(browser, at: test)
      let list = try await test.client.get("/v1/sessions", token: phone.access).json[list: "sessions"]
      let found = list.filter { $0[object: "device"]["platform"] == "web" }
      #expect(found.count == 1)
      #expect(list.filter { $0[object: "device"]["name"] == "The party" }.count == 1)
      let id: String = try #require(found.first?["id"])
      #expect(try await isSignedIn(browser))
      #expect(try await test.client.send("DELETE", "/v1/sessions/\(id)", token: phone.access).status == 204)
      #expect(try await !isSignedIn(browser))
      // What was signed in to with it is signed out, too.
      let left = try await test.client.get("/v1/sessions", token: phone.access).json[list: "sessions"]
      #expect(left.filter { $0[object: "device"]["name"] == "The party" }.isEmpty)
    }
  }

  @Test func `ends after the idle limit, and lives on while it is used`() async throws {
    var limits = RegistryLimits()
    (limits.browserIdleLimit, limits.browserAbsoluteLimit) = (.seconds(1000), .seconds(3000))
    try await TestServer.runOpenID(limits: limits) { test in
      let browser = try await browser(test)
      for _ in 0..<3 {
        test.clock.advance(by: .seconds(900))
        #expect(try await isSignedIn(browser))
      }
      test.clock.advance(by: .seconds(300))
      #expect(try await !isSignedIn(browser))
      let other = try await self.browser(test)
      test.clock.advance(by: .seconds(1000))
      #expect(try await !isSignedIn(other))
    }
  }

  @Test func `that another tab has ended is signed out here as well, and other forms lead to the sign-in`() async throws
  {
    try await TestServer.runOpenID { test in
      let browser = try await browser(test)
      let app = OAuthApp.party()
      let consent = try await browser.get(app.page())
      let page = try await browser.get("/account/devices")
      let ask = try await browser.get("/sign-out")
      #expect(ask.status == 303 && ask.location == Browser.issuer + "/oauth/logout")
      #expect(try await browser.get("/oauth/logout").title.hasPrefix("Sign out"))
      #expect(try await browser.press("sign-out", on: page, at: "/sign-out").status == 303)
      // The page after a sign-out has a form of its own.
      _ = try await browser.get("/sign-in")
      for path in ["/sign-out", "/oauth/logout"] {
        let again = try await browser.press("sign-out", on: page, at: path)
        #expect(again.location == Browser.issuer + "/oauth/logout", "\(path): \(again.status)")
      }
      #expect(try await browser.get("/oauth/logout").title == "You are signed out")
      let other = try await browser.press("end", on: page, at: "/account/devices?lang=de")
      #expect(other.location?.hasPrefix(Browser.issuer + "/sign-in?next=") == true)
      #expect(other.location?.contains("account%2Fdevices") == true, "\(other.location ?? "")")
      let allowed = try await browser.press("allow", on: consent, at: app.page())
      #expect(allowed.status == 303 && allowed.location?.hasPrefix(Browser.issuer + "/oauth/authorize?") == true)
      let back = String(try #require(allowed.location).dropFirst(Browser.issuer.count))
      #expect(try await browser.signIn(at: back).status == 200, "the request of the app is kept")
      // With a session, a form that it was not shown stays refused.
      #expect(try await browser.press("sign-out", on: page, at: "/sign-out").status == 403)
      #expect(try await isSignedIn(browser))
    }
  }

  @Test func `keeps nothing in the browser when it is signed out, but its name`() async throws {
    try await TestServer.runOpenID { test in
      let browser = try await browser(test)
      let page = try await browser.get("/device")
      let answer = try await browser.press("sign-out", on: page, at: "/device")
      #expect(answer.header("clear-site-data") == "\"cache\", \"storage\"")
      #expect(browser.cookies[ResponseCookie.session] == nil)
      #expect(browser.cookies[ResponseCookie.device] != nil)
      #expect(try await !isSignedIn(browser))
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A client that has its user signed out` {
  private func path(_ fields: [(String, String)]) -> String { Browser.path("/oauth/logout", fields) }

  @Test func `sends the browser to a registered address, and the user need not confirm`() async throws {
    try await TestServer.runOpenID { test in
      let browser = Browser(test.client.base)
      let tokens = try await OAuthApp.party().tokens(browser, at: test)
      let back = try await browser.get(
        path([
          ("id_token_hint", tokens.json["id_token"] ?? ""), ("state", "a&b"),
          ("post_logout_redirect_uri", "https://party.example.org/bye?a=b"),
        ]))
      #expect(back.status == 303)
      #expect(back.location == "https://party.example.org/bye?a=b&state=a%26b")
      #expect(browser.cookies[ResponseCookie.session] == nil)
      #expect(try await browser.get("/device").title == "Sign in")
    }
  }

  @Test func `asks the user without the ID token of this browser's sign-in`() async throws {
    try await TestServer.runOpenID { test in
      let browser = Browser(test.client.base)
      _ = try await browser.signIn(at: "/device")
      let elsewhere = try await OAuthApp.party().tokens(Browser(test.client.base), at: test)
      for fields in [
        [], [("client_id", "party")], [("id_token_hint", elsewhere.json["id_token"] ?? "")],
        [("id_token_hint", "made up"), ("client_id", "party")],
      ] {
        let page = try await browser.get(path(fields))
        #expect(page.status == 200)
        #expect(page.title.hasPrefix("Sign out"), "\(fields)")
      }
      let page = try await browser.get(path([("client_id", "party")]))
      #expect(page.text.contains("The party"))
      let stay = try await browser.press("stay", on: page, at: path([("client_id", "party")]))
      #expect(stay.status == 303)
      #expect(try await browser.get("/device").title != "Sign in")
      let out = try await browser.press("sign-out", on: page, at: path([("client_id", "party")]))
      #expect(out.status == 303)
      #expect(try await browser.get(path([])).title == "You are signed out")
      #expect(try await browser.get("/device").title == "Sign in")
    }
  }

  @Test func `cannot send the browser anywhere else`() async throws {
    try await TestServer.runOpenID { test in
      let browser = Browser(test.client.base)
      _ = try await browser.signIn(at: "/device")
      for fields in [
        [("client_id", "party"), ("post_logout_redirect_uri", "https://evil.example.org/")],
        [("post_logout_redirect_uri", "https://party.example.org/bye?a=b")],
        [("client_id", "mail"), ("post_logout_redirect_uri", "https://party.example.org/bye?a=b")],
        [("client_id", "party"), ("post_logout_redirect_uri", "https://party.example.org/bye")],
      ] {
        let page = try await browser.get(path(fields))
        #expect(page.status == 400, "\(fields)")
        #expect(page.location == nil)
      }
      let tokens = try await OAuthApp.party().tokens(browser, at: test)
      let mixed = [("id_token_hint", tokens.json["id_token"] ?? ""), ("client_id", "mail")]
      #expect(try await browser.get(path(mixed)).status == 400)
      #expect(try await browser.get("/device").title != "Sign in")
    }
  }

  @Test func `may send a form, which comes without cookies`() async throws {
    try await TestServer.runOpenID { test in
      let browser = Browser(test.client.base)
      let answer = try await browser.post("/oauth/logout", [("client_id", "party"), ("state", "x y")])
      #expect(answer.status == 303)
      #expect(answer.location == "https://id.example.org/oauth/logout?client_id=party&state=x%20y")
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A client that is told of ended sessions` {
  /// Ends the session of a client from the list of devices.
  private func end(_ session: String, _ test: TestServer) async throws {
    let phone = try await test.signIn()
    #expect(try await test.client.send("DELETE", "/v1/sessions/\(session)", token: phone.access).status == 204)
  }

  @Test(arguments: [("party", "ES256"), ("old", "RS256")])
  func `gets a token that another implementation verifies`(id: String, algorithm: String) async throws {
    try await RelyingParty.run { party, uri in
      try await TestServer.runOpenID(logout: [id: uri]) { test in
        let tokens = try await OAuthApp.party(id).tokens(Browser(test.client.base), at: test)
        try await end(tokens.json["session_id"] ?? "", test)
        let token = try #require(await party.tokens(1).first)
        let keys = try await test.client.get("/.well-known/jwks.json").text
        let verified = try await Authlib.verify(token, keys: keys)
        let (header, claims) = (verified[object: "header"], verified[object: "payload"])
        #expect(header["alg"] == algorithm)
        #expect(header["typ"] == "logout+jwt")
        #expect(claims["iss"] == "https://id.example.org")
        #expect(claims["aud"] == id)
        #expect(claims["sid"] == (tokens.json["session_id"] as String?))
        #expect(claims["sub"] == (tokens.claims("access_token")["sub"] as String?))
        let events = claims[object: "events"]
        #expect(Array(events.fields.keys) == ["http://schemas.openid.net/event/backchannel-logout"])
        #expect(claims["nonce"] as String? == nil)
        #expect(claims["jti"] as String? != nil)
        await test.server.lasting.logoutQueue.bell.waitUntilIdle()
        #expect(test.metrics.logoutsSent == 1)
        #expect(try await test.server.registry.waitingLogouts(of: id, now: test.clock.now) == [])
      }
    }
  }

  @Test func `hears of the browser's sign-out, and one that may stay does not`() async throws {
    try await RelyingParty.run { party, uri in
      try await TestServer.runOpenID(logout: ["party": uri, "mail": uri]) { test in
        let browser = Browser(test.client.base)
        let tokens = try await OAuthApp.party().tokens(browser, at: test)
        _ = try await OAuthApp.party("mail", scope: "openid offline_access").tokens(browser, at: test)
        let page = try await browser.get("/device")
        _ = try await browser.press("sign-out", on: page, at: "/device")
        await test.server.lasting.logoutQueue.bell.waitUntilIdle()
        #expect(party.tokens.count == 1)
        let refused = try await test.client.get("/oauth/userinfo", token: tokens.json["access_token"] ?? "")
        #expect(refused.status == 401)
      }
    }
  }

  @Test func `hears of a borrowed browser that was left, also if it may stay`() async throws {
    try await RelyingParty.run { party, uri in
      try await TestServer.runOpenID(logout: ["party": uri]) { test in
        let (browser, app) = (Browser(test.client.base), OAuthApp.party(scope: "openid offline_access"))
        let signedIn = try await browser.fill(
          app.page(), "sign-in", [("email", "ada@example.org"), ("password", TestServer.password)] + Browser.box)
        #expect(signedIn.status == 303)
        #expect(try await browser.get(app.page()).text.contains("Access ends with your session in this browser"))
        let tokens = try await app.tokens(browser, at: test)
        test.clock.advance(by: .seconds(900))
        await Sweeper(server: test.server).sweep()
        #expect(await party.tokens(1).count == 1)
        let refreshed = try await app.refresh(
          tokens.json["refresh_token"] ?? "", at: test, headers: TestServer.basic("party", TestServer.secret))
        #expect(refreshed.json["error"] == "invalid_grant")
      }
    }
  }

  @Test func `is told again until it has heard, with a token of its own each time`() async throws {
    try await RelyingParty.run { party, uri in
      try await TestServer.runOpenID(logout: ["party": uri]) { test in
        party.answer(.internalServerError)
        let tokens = try await OAuthApp.party().tokens(Browser(test.client.base), at: test)
        try await end(tokens.json["session_id"] ?? "", test)
        _ = await party.tokens(1)
        await test.server.lasting.logoutQueue.bell.waitUntilIdle()
        let waiting = try await test.server.registry.waitingLogouts(of: "party", now: test.clock.now)
        #expect(waiting.map(\.failure) == ["it answered 500"])
        #expect(test.metrics.logoutsFailed == 1)
        party.answer(.noContent)
        test.clock.advance(by: .seconds(2))
        await test.server.lasting.logoutQueue.bell.waitUntilIdle()
        let both = party.tokens
        #expect(both.count == 2)
        #expect(Set(both).count == 2)
        #expect(try await test.server.registry.waitingLogouts(of: "party", now: test.clock.now) == [])
      }
    }
  }

  @Test func `is given up after refusing five times, or after a day, and operators see it`() async throws {
    try await RelyingParty.run { party, uri in
      try await TestServer.runOpenID(logout: ["party": uri]) { test in
        func tries(_ status: Int, after pause: Duration) async throws -> Int {
          let before = party.tokens.count
          party.answer(.init(code: status))
          let tokens = try await OAuthApp.party().tokens(Browser(test.client.base), at: test)
          try await end(tokens.json["session_id"] ?? "", test)
          for _ in 0..<80 {
            await test.server.lasting.logoutQueue.bell.waitUntilIdle()
            test.clock.advance(by: pause)
          }
          return party.tokens.count - before
        }
        #expect(try await tries(400, after: .seconds(60)) == 5)
        #expect(test.metrics.logoutsAbandoned == 1)
        let waiting = try await test.server.registry.waitingLogouts(of: "party", now: test.clock.now)
        #expect(waiting.map(\.nextAt) == [nil])
        let most = try await tries(503, after: .seconds(3600))
        #expect((24...40).contains(most), "\(most)")
        #expect(test.metrics.logoutsAbandoned == 2)
      }
    }
  }

  @Test func `is told when its entry is back, and its absence is no failure before a day has passed`() async throws {
    try await RelyingParty.run { party, uri in
      try await TestServer.runOpenID(logout: ["party": uri]) { test in
        let clients = test.server.configuration.clients
        func reload(_ clients: [ConfiguredClient]) async throws {
          var configuration = test.server.configuration
          configuration.clients = clients
          try await test.server.reload(configuration, registry: test.server.registry, keys: test.keys)
        }
        func endWhileMissing(for hours: Int) async throws {
          let tokens = try await OAuthApp.party().tokens(Browser(test.client.base), at: test)
          try await reload(clients.filter { $0.id != "party" })
          try await end(tokens.json["session_id"] ?? "", test)
          for _ in 0..<hours {
            await test.server.lasting.logoutQueue.bell.waitUntilIdle()
            test.clock.advance(by: .seconds(3600))
          }
        }
        try await endWhileMissing(for: 3)
        let waiting = try await test.server.registry.waitingLogouts(of: "party", now: test.clock.now)
        #expect(waiting.map(\.failures) == [0] && test.metrics.logoutsFailed == 0)
        try await reload(clients)
        test.clock.advance(by: .seconds(3600))
        #expect(await party.tokens(1).count == 1)
        await test.server.lasting.logoutQueue.bell.waitUntilIdle()
        try await endWhileMissing(for: 25)
        #expect(test.metrics.logoutsFailed == 1 && test.metrics.logoutsAbandoned == 1)
        #expect(party.tokens.count == 1)
      }
    }
  }

  @Test func `does not wait for another one that hangs`() async throws {
    let gate = Gate()
    try await RelyingParty.run(behind: gate) { slow, slowURI in
      try await RelyingParty.run { quick, quickURI in
        try await TestServer.runOpenID(logout: ["party": slowURI, "mail": quickURI]) { test in
          let phone = try await test.signIn()
          var sessions: [String] = []
          for _ in 0..<24 {
            let browser = Browser(test.client.base)
            sessions.append(try await OAuthApp.party().tokens(browser, at: test).json["session_id"] ?? "")
          }
          let last = try await OAuthApp.party("mail").tokens(Browser(test.client.base), at: test)
          sessions.append(last.json["session_id"] ?? "")
          for session in sessions {
            #expect(try await test.client.send("DELETE", "/v1/sessions/\(session)", token: phone.access).status == 204)
          }
          #expect(await quick.tokens(1).count == 1)
          #expect(slow.tokens.count <= 16)
          gate.open()
        }
      }
    }
  }

  @Test func `needs a transport`() async throws {
    let client = try ConfiguredClient(
      id: "party", redirectURIs: ["https://party.example.org/cb"], scopes: ["openid"],
      backChannelLogoutURI: "https://party.example.org/logout")
    await #expect(throws: ServerConfigurationError.client(.noTransport("party"))) {
      try await TestServer.run {
        $0.clients = [client]
      } body: { _ in
      }
    }
  }
}
#endif
