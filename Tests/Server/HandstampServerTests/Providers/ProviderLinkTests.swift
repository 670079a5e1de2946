#if Programs
import Foundation
import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `An owner with accounts elsewhere` {
  /// The ID of a link on the page of security.
  private func link(on page: Browser.BrowserResponse) throws -> String {
    String(try #require(page.text.firstMatch(of: /name="identity" value="([^"]+)"/)).output.1)
  }

  @Test func `links an account elsewhere, signs in with it, and removes it`() async throws {
    let post = Post()
    let notices: Set<AccountNotice> = [.identityLinked, .identityUnlinked]
    try await ProviderPair.run(mailer: post, { _ in }, { $0.mail.notices = notices }) { pair in
      let ada = try await pair.member("ada@example.org")
      _ = try await pair.person("ada@elsewhere.example")
      let browser = try await Browser.signedIn(pair.test)
      #expect(try await browser.get("/account/security").text.contains("No connected accounts yet."))
      let url = try await pair.leave(browser, from: "/account/security", "link")
      #expect(url.contains("max_age=0"), "a sign-in of before proves nothing now")
      let back = try await browser.get(try await pair.visit(url, as: "ada@elsewhere.example"))
      let page = try await browser.follow(back)
      #expect(page.text.contains("You can now sign in with the account that you connected."))
      #expect(page.text.contains("ada@elsewhere.example"))
      #expect(try await post.next().text.contains("was linked to your account"))
      let other = pair.browser
      #expect(try await pair.signIn("ada@elsewhere.example", other).status == 303)
      #expect(try await pair.account(of: other) == ada.id)
      // A second time changes nothing.
      _ = try await pair.signIn("ada@elsewhere.example", browser, from: "/account/security", "link")
      #expect(try await pair.registry.identities(of: ada).count == 1)
      let removed = try await browser.press(
        "unlink", on: page, at: "/account/security", [("identity", try link(on: page))])
      #expect(removed.text.contains("The account is disconnected."))
      #expect(try await post.next().text.contains("was removed from your account"))
      #expect(try await pair.registry.identities(of: ada).isEmpty)
      let kinds = try await pair.registry.auditedActions(about: ada.id, limit: 99).map(\.audited.action)
      #expect(kinds.filter { $0.hasPrefix("identity.") } == ["identity.linked", "identity.unlinked"])
    }
  }

  @Test func `cannot link what belongs to another account`() async throws {
    try await ProviderPair.run { pair in
      let ada = try await pair.member("ada@example.org")
      let shared = try await pair.person("shared@elsewhere.example")
      let first = pair.browser
      _ = try await pair.signIn("shared@elsewhere.example", first)
      let owner = try await pair.account(of: first)
      let answer = try await pair.signIn(
        "shared@elsewhere.example", try await Browser.signedIn(pair.test), from: "/account/security", "link")
      #expect(answer.status == 403 && answer.title == "This account is in use")
      #expect(try await pair.registry.identities(of: ada).isEmpty)
      #expect(try await pair.registry.account(identity: pair.identity(shared))?.id == owner)
    }
  }

  @Test func `keeps the last way in`() async throws {
    try await ProviderPair.run { pair in
      _ = try await pair.person("ada@example.org")
      let browser = pair.browser
      _ = try await pair.signIn("ada@example.org", browser)
      let page = try await browser.get("/account/security")
      let kept = try await browser.press(
        "unlink", on: page, at: "/account/security", [("identity", try link(on: page))])
      #expect(kept.text.contains("This account is your only way to sign in."))
      let id = try #require(try await pair.account(of: browser))
      let account = try #require(try await pair.registry.account(id))
      #expect(try await pair.registry.identities(of: account).count == 1)
      // With a second one, the first may go: the account is not a guest's then either.
      let second = ExternalIdentity(issuer: "https://other.example", subject: "1")
      let session = try #require(try await pair.registry.sessions(of: id, now: pair.test.clock.now).first).id
      _ = try await pair.registry.link(
        IdentityProof(second, provider: "other", label: ""), to: id, in: session, now: pair.test.clock.now)
      let gone = try await browser.press(
        "unlink", on: page, at: "/account/security", [("identity", try link(on: page))])
      #expect(gone.text.contains("The account is disconnected."))
      let left = try #require(try await pair.registry.account(id))
      #expect(left.identity == second && !left.isGuest)
      #expect(try await pair.registry.identities(of: left).map(\.identity) == [second])
    }
  }

  @Test func `without a password proves it again at the provider, with the same account`() async throws {
    try await ProviderPair.run { pair in
      _ = try await pair.person("ada@example.org")
      _ = try await pair.person("eve@example.org")
      let browser = pair.browser
      _ = try await pair.signIn("ada@example.org", browser)
      pair.test.clock.advance(by: .seconds(3600))
      // The page that asks is shown in place of the answer to a form.
      let asked = try await browser.fill("/account/security", "make-codes")
      #expect(asked.title == "Confirm it’s you" && asked.text.contains("Continue with Work"))
      #expect(!asked.text.contains(#"type="password""#))
      let id = try await pair.account(of: browser)
      let other = try await pair.signIn("eve@example.org", browser, from: "/account/security")
      #expect(other.status == 403 && other.title == "That was another account")
      #expect(try await pair.account(of: browser) == id)
      #expect(try await browser.fill("/account/security", "make-codes").title == "Confirm it’s you")
      let back = try await pair.signIn("ada@example.org", browser, from: "/account/security")
      #expect(back.location == Browser.issuer + "/account/security")
      #expect(try await browser.fill("/account/security", "make-codes").title == "Security")
    }
  }

  @Test func `takes the account back with all that a stranger has linked`() async throws {
    try await ProviderPair.run { pair in
      let ada = try await pair.member("ada@example.org")
      let evil = try await pair.person("eve@elsewhere.example")
      _ = try await pair.signIn(
        "eve@elsewhere.example", try await Browser.signedIn(pair.test), from: "/account/security", "link")
      #expect(try await pair.registry.account(identity: pair.identity(evil))?.id == ada.id)
      _ = try await pair.test.server.administration(by: .machineUser("bob")).takeBack(ada.id)
      #expect(try await pair.registry.account(identity: pair.identity(evil)) == nil)
      let browser = pair.browser
      _ = try await pair.signIn("eve@elsewhere.example", browser)
      #expect(try await pair.account(of: browser) != ada.id)
    }
  }

  @Test func `deletes the account with its links, which are in the export before`() async throws {
    try await ProviderPair.run { pair in
      let person = try await pair.person("ada@example.org")
      let browser = pair.browser
      _ = try await pair.signIn("ada@example.org", browser)
      let id = try #require(try await pair.account(of: browser))
      let administration = pair.test.server.administration(by: .machineUser("bob"))
      let export = String(decoding: try await administration.export(id), as: UTF8.self)
      #expect(export.contains(#""identities":[{"issuer":"https://provider.example""#))
      #expect(export.contains(person.account))
      let record = try #require(try await pair.registry.account(id))
      _ = try await pair.registry.deleteAccount(record, now: pair.test.clock.now)
      #expect(try await pair.registry.account(identity: pair.identity(person)) == nil)
      _ = try await pair.signIn("ada@example.org", browser)
      #expect(try await pair.account(of: browser) != id)
    }
  }
}
#endif
