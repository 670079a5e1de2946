#if Programs
import Foundation
import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

/// The attacks of people with an account at a provider on accounts of others.
@Suite(.timeLimit(.minutes(10))) struct `An account here` {
  @Test(arguments: [false, true])
  func `is not taken by an address that the provider has not verified`(isTrusted: Bool) async throws {
    try await ProviderPair.run({ $0.trustsEmail = isTrusted }) { pair in
      let ada = try await pair.member("ada@example.org")
      _ = try await pair.person("ada@example.org", isVerified: false)
      let eve = pair.browser
      #expect(try await pair.signIn("ada@example.org", eve).status == 303)
      let other = try #require(try await pair.account(of: eve))
      #expect(other != ada.id)
      // And no address of hers, by which Ada would find this account later.
      #expect(try await pair.registry.account(other)?.email == nil)
    }
  }

  @Test(arguments: [(false, true), (true, false)])
  func `is not taken by an address alone`(isTrusted: Bool, isConfirmed: Bool) async throws {
    try await ProviderPair.run({ $0.trustsEmail = isTrusted }) { pair in
      let ada = try await pair.member("ada@example.org", isConfirmed: isConfirmed)
      let elsewhere = try await pair.person("ada@example.org")
      let browser = pair.browser
      let answer = try await pair.signIn("ada@example.org", browser)
      #expect(answer.status == 409 && answer.title == "You already have an account")
      #expect(answer.text.contains("/sign-in?next=/account/security"))
      #expect(try await pair.account(of: browser) == nil)
      #expect(try await pair.registry.account(identity: pair.identity(elsewhere)) == nil)
      #expect(try await pair.registry.accounts(limit: 9).map(\.id) == [ada.id])
    }
  }

  @Test func `is found by an address that a trusted provider has verified, and its owner hears of it`() async throws {
    let post = Post()
    try await ProviderPair.run(mailer: post, { $0.trustsEmail = true }, { $0.mail.notices = [.identityLinked] }) {
      pair in
      let ada = try await pair.member("ada@example.org")
      _ = try await pair.person("Ada@Example.org")
      let browser = pair.browser
      #expect(try await pair.signIn("Ada@Example.org", browser).status == 303)
      #expect(try await pair.account(of: browser) == ada.id)
      let letter = try await post.next()
      #expect(letter.text.contains("linked to your account") && letter.text.contains("Name: “office Ada "))
      #expect(try await browser.get("/account/activity").text.contains("connected"))
    }
  }

  @Test(arguments: ["\"ada\"@example.org", "ａda@example.org"])
  func `is not found by an address that it has in another spelling, which may be another mailbox`(spelling: String)
    async throws
  {
    try await ProviderPair.run({ $0.trustsEmail = true }) { pair in
      var ada = try await pair.member("ada@example.org")
      // As a program may store it that embeds the server.
      ada.email = EmailAddress(stored: spelling, normalized: "ada@example.org")
      _ = try await pair.registry.update(ada)
      _ = try await pair.person("ada@example.org")
      let eve = pair.browser
      #expect(try await pair.signIn("ada@example.org", eve).status == 409)
      #expect(try await pair.account(of: eve) == nil)
    }
  }

  @Test func `with an authenticator app is not found by an address, which a reader of its owner's mails could verify`()
    async throws
  {
    try await ProviderPair.run({ $0.trustsEmail = true }) { pair in
      let session = try await pair.test.signUp("ada@example.org")
      var ada = try #require(try await pair.registry.account(AccountID(session.account)))
      ada.emailConfirmedAt = pair.test.clock.now
      _ = try await pair.registry.update(ada)
      _ = try await pair.test.addApp(to: session)
      _ = try await pair.person("ada@example.org")
      let eve = pair.browser
      #expect(try await pair.signIn("ada@example.org", eve).status == 409)
      #expect(try await pair.account(of: eve) == nil)
    }
  }

  @Test func `stays the same person's when the provider changes its mind about the address`() async throws {
    try await ProviderPair.run({ $0.trustsEmail = true }) { pair in
      let bob = try await pair.member("bob@example.org")
      let elsewhere = try await pair.person("ada@example.org")
      let browser = pair.browser
      _ = try await pair.signIn("ada@example.org", browser)
      let ada = try #require(try await pair.account(of: browser))
      #expect(try await pair.registry.account(ada)?.email?.typed == "ada@example.org")
      try await pair.change(elsewhere) { $0.email = EmailAddress("bob@example.org") }
      let other = pair.browser
      #expect(try await pair.signIn("bob@example.org", other).status == 303)
      #expect(try await pair.account(of: other) == ada)
      #expect(try await pair.registry.account(ada)?.email?.typed == "ada@example.org")
      #expect(try await pair.registry.identities(of: bob).isEmpty)
    }
  }

  @Test(arguments: [("/sign-in", "provider"), ("/account/security", "link")])
  func `is not linked by a way back that another browser began`(path: String, action: String) async throws {
    try await ProviderPair.run { pair in
      let ada = try await pair.member("ada@example.org")
      _ = try await pair.member("eve@example.com")
      let evil = try await pair.person("eve@example.org")
      let victim = try await Browser.signedIn(pair.test)
      let eve = pair.browser
      if action == "link" { _ = try await eve.signIn(at: "/sign-in?next=%2Faccount", as: "eve@example.com") }
      let back = try await pair.visit(try await pair.leave(eve, from: path, action), as: "eve@example.org")
      // Without an attempt, and with one of her own.
      for _ in 0..<2 {
        let answer = try await victim.get(back)
        #expect(answer.status == 400 && answer.title == "You weren’t signed in")
        #expect(try await pair.account(of: victim) == ada.id)
        #expect(try await pair.registry.account(identity: pair.identity(evil)) == nil)
        _ = try await pair.leave(victim, from: "/account/security", "link")
      }
      // Not even with the attacker's cookie: it belongs to the attacker's browser.
      victim.cookies["__Host-handstamp-with-office"] = eve.cookies["__Host-handstamp-with-office"]
      #expect(try await victim.get(back).status == 400)
      #expect(try await pair.registry.identities(of: ada).isEmpty)
    }
  }

  @Test func `is not linked by a form of another site, nor without a recent proof`() async throws {
    try await ProviderPair.run { pair in
      let ada = try await pair.member("ada@example.org")
      let browser = try await Browser.signedIn(pair.test)
      let fields = [("action", "link"), ("provider", "office")]
      let forged = try await browser.post("/account/security", fields)
      #expect(forged.status == 403 && forged.header("refresh") == nil)
      let token = try #require(try await browser.get("/account/security").csrf)
      let elsewhere = try await browser.post(
        "/account/security", fields + [("csrf", token)],
        headers: ["Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"])
      #expect(elsewhere.status == 403 && elsewhere.header("refresh") == nil)
      pair.test.clock.advance(by: .seconds(3600))
      let late = try await browser.fill("/account/security", "link", [("provider", "office")])
      #expect(late.title == "Confirm it’s you" && late.header("refresh") == nil)
      #expect(try await pair.registry.identities(of: ada).isEmpty)
    }
  }

  @Test func `is not linked for a session that has ended, or another one`() async throws {
    try await ProviderPair.run { pair in
      let ada = try await pair.member("ada@example.org")
      let bob = try await pair.member("bob@example.org")
      _ = try await pair.person("ada@elsewhere.example")
      let browser = try await Browser.signedIn(pair.test)
      let back = try await pair.visit(
        try await pair.leave(browser, from: "/account/security", "link"), as: "ada@elsewhere.example")
      let form = browser.cookies[ResponseCookie.form]
      _ = try await pair.test.server.registry.endAll(of: ada.id, now: pair.test.clock.now)
      _ = try await browser.signIn(at: "/sign-in?next=%2Faccount", as: "bob@example.org")
      browser.cookies[ResponseCookie.form] = form
      #expect((400..<500).contains(try await browser.get(back).status))
      for record in [ada, bob] { #expect(try await pair.registry.identities(of: record).isEmpty) }
    }
  }
}
#endif
