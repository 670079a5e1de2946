#if Programs
import Foundation
import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A person with an account elsewhere` {
  @Test func `gets an account by the first sign-in, and finds it by the next`() async throws {
    try await ProviderPair.run { pair in
      let ada = try await pair.person("ada@example.org")
      let browser = pair.browser
      let page = try await browser.get("/sign-in")
      #expect(
        page.text.contains(
          #"<button class="button wide" name="provider" value="office" formnovalidate>Continue with Work</button>"#))
      #expect(try await browser.get("/sign-up").text.contains("Continue with Work"))
      let first = try await pair.signIn("ada@example.org", browser)
      // By the page that the browser came from.
      #expect(try await browser.follow(try await browser.follow(first)).title == "Profile")
      #expect(first.all("set-cookie").contains { $0.hasPrefix("__Host-handstamp-with-office=;") }, "it is used")
      let id = try #require(try await pair.account(of: browser))
      let account = try #require(try await pair.registry.account(id))
      // The operator does not trust the provider's word about addresses.
      #expect(account.email == nil && account.username == "Ada" && !account.isGuest)
      #expect(try await pair.registry.account(identity: pair.identity(ada))?.id == id)
      let other = pair.browser
      pair.test.clock.advance(by: .seconds(60))
      _ = try await pair.signIn("ada@example.org", other)
      #expect(try await pair.account(of: other) == id)
      let links = try await pair.registry.identities(of: account)
      #expect(links.map(\.provider) == ["office"] && links.first?.lastUsedAt == pair.test.clock.now)
      let entries = try await pair.registry.auditedActions(about: id, limit: 99).map(\.audited)
      #expect(entries.count { $0.action == "session.began" && $0.details.contains(#""way":"provider""#) } == 2)
    }
  }

  @Test func `comes back to the app that asked, and to a device`() async throws {
    let clients = try TestServer.clients()
    try await ProviderPair.run({ _ in }, { $0.clients = clients }) { pair in
      _ = try await pair.person("ada@example.org")
      let browser = pair.browser
      let path = OAuthApp().page()
      let back = try await pair.signIn("ada@example.org", browser, from: path)
      let consent = try await browser.follow(back)
      #expect(consent.status == 200 && consent.title != "Sign in")
      let here = String(try #require(back.location).dropFirst(Browser.issuer.count))
      let code = try #require(try await browser.press("allow", on: consent, at: here).fields["code"])
      #expect(try await OAuthApp().redeem(code, at: pair.test).status == 200)
      let device = try await pair.signIn("ada@example.org", pair.browser, from: "/device?user_code=WDJB-MJHT")
      #expect(device.location == Browser.issuer + "/device?user_code=WDJB-MJHT")
      // An app that asks for a new sign-in gets one, and is not asked again.
      let fresh = OAuthApp(more: [("prompt", "login")]).page()
      let url = try await pair.leave(browser, from: fresh)
      #expect(url.contains("max_age=0"))
      let again = try await browser.get(try await pair.visit(url, as: "ada@example.org"))
      #expect(try await browser.follow(again).title != "Sign in")
    }
  }

  @Test func `sees why it failed, and a way out`() async throws {
    try await ProviderPair.run { pair in
      _ = try await pair.person("ada@example.org")
      let browser = pair.browser
      let url = try await pair.leave(browser, from: "/sign-in?next=%2Faccount%2Fdevices")
      let state = try #require(URLComponents(string: url)?.queryItems?.first { $0.name == "state" }?.value)
      let issuer = Browser.escaped(ProviderPair.issuer)
      let refused = try await browser.get(
        "/sign-in/with/office/callback?error=access_denied&state=\(state)&iss=\(issuer)")
      #expect(refused.status == 403 && refused.title == "You weren’t signed in")
      #expect(refused.text.contains(#"href="/account/devices""#))
      #expect(try await pair.account(of: browser) == nil)
      // The attempt was used.
      let late = try await browser.get("/sign-in/with/office/callback?code=x&state=\(state)&iss=\(issuer)")
      #expect(late.status == 400 && late.text.contains(#"href="/sign-in""#) && late.text.contains("another browser"))
      #expect(try await browser.get("/sign-in/with/nope/callback?code=x").status == 404)
      let page = try await browser.get("/sign-in")
      #expect(try await browser.press("provider", on: page, at: "/sign-in", [("provider", "nope")]).status == 403)
    }
    try await ProviderPair.run { pair in
      pair.road.close()
      let browser = pair.browser
      let page = try await browser.get("/sign-in")
      let sight = try await browser.press("provider", on: page, at: "/sign-in", [("provider", "office")])
      #expect(sight.status == 503 && sight.title == "Work doesn’t answer" && sight.header("refresh") == nil)
      #expect(sight.text.contains(#"href="/sign-in""#))
    }
  }

  @Test func `signs in while this server's clock is doubted, and is not blamed for a clock that is wrong`() async throws
  {
    let late = TestClock(UnixTime.current.advanced(by: .seconds(-480)))
    try await ProviderPair.run({ _ in }, { ($0.now, $0.uptime) = ({ late.now }, { late.uptime }) }) { pair in
      _ = try await pair.person("ada@example.org")
      // To the provider's time, which is right.
      late.jump(by: .seconds(480))
      let browser = pair.browser
      #expect(try await pair.signIn("ada@example.org", browser).status == 303)
      #expect(try await pair.account(of: browser) != nil)
      late.jump(by: .seconds(-480))
      let wrong = try await pair.signIn("ada@example.org", pair.browser)
      #expect(wrong.status == 400 && wrong.text.contains("We couldn’t verify the answer of Work."))
    }
  }

  @Test func `is told in German`() async throws {
    try await ProviderPair.run { pair in
      let page = try await pair.browser.get("/sign-in?lang=de")
      #expect(page.text.contains("Weiter mit Work"))
    }
  }

  @Test func `sees the provider's image, which runs nothing`() async throws {
    let logo = PageSettings.Image(
      bytes: Array(#"<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>"#.utf8),
      type: "image/svg+xml")
    try await ProviderPair.run({ $0.logo = logo }) { pair in
      let page = try await pair.browser.get("/sign-in")
      let path = try #require(page.text.firstMatch(of: /<img class="button-logo" src="([^"]+)" alt="">/)).output.1
      #expect(!page.text.contains("alert(1)"))
      let image = try await pair.browser.get(String(path))
      #expect(image.header("content-type") == "image/svg+xml")
      let policy = try #require(image.header("content-security-policy"))
      #expect(policy.contains("default-src 'none'") && policy.contains("sandbox"))
    }
  }

  // MARK: Who gets an account

  @Test(arguments: [
    (UpstreamProvider.SignUp.open, ServerConfiguration.SignUp.open, true, true),
    (.open, .closed, true, false), (.invited, .open, true, false),
    (.domains(["example.org"]), .closed, true, true), (.domains(["example.org"]), .open, false, false),
    (.domains(["other.example", "example.com"]), .open, true, false), (.domains(["ample.org"]), .open, true, false),
  ])
  func `gets one as the operator says`(
    rule: UpstreamProvider.SignUp, own: ServerConfiguration.SignUp, isVerified: Bool, isAdmitted: Bool
  ) async throws {
    try await ProviderPair.run({ $0.signUp = rule }, { $0.signUp = own }) { pair in
      let ada = try await pair.person("ada@example.org", isVerified: isVerified)
      let browser = pair.browser
      let answer = try await pair.signIn("ada@example.org", browser)
      #expect((answer.status == 303) == isAdmitted)
      if !isAdmitted { #expect(answer.status == 403 && answer.title == "Sign-up is closed") }
      let found = try await pair.registry.account(identity: pair.identity(ada))
      #expect((found != nil) == isAdmitted)
      #expect(try await pair.registry.accounts(limit: 9).count == (isAdmitted ? 1 : 0))
    }
  }

  @Test func `keeps the account when the provider stops taking new ones`() async throws {
    try await ProviderPair.run({ $0.signUp = .invited }) { pair in
      let ada = try await pair.person("ada@example.org")
      let member = try await pair.member("other@example.org")
      let proof = IdentityProof(pair.identity(ada), provider: "office", label: "ada")
      let use = pair.registry.credentialUse(linking: proof, to: member, now: pair.test.clock.now)
      _ = try await pair.registry.createSession(
        by: use, SessionStart(device: DeviceInfo(id: DeviceID("d"), name: "d", platform: "")), now: pair.test.clock.now)
      let browser = pair.browser
      #expect(try await pair.signIn("ada@example.org", browser).status == 303)
      #expect(try await pair.account(of: browser) == member.id)
      _ = try await pair.test.server.administration(by: .machineUser("bob")).disable(member.id)
      let refused = try await pair.signIn("ada@example.org", pair.browser)
      #expect(refused.status == 403 && refused.title == "This account is disabled")
    }
  }
}
#endif
