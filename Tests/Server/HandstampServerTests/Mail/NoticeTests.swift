#if Programs
import HandstampCore
import HandstampRegistry
import HandstampTesting
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `The owner of an account` {
  private func run(
    _ post: Post, _ configure: (inout ServerConfiguration) -> Void = { _ in }, body: (TestServer) async throws -> Void
  ) async throws {
    try await TestServer.run(mailer: post) {
      $0.mail.notices = Set(AccountNotice.allCases)
      $0.mail.devicesLink = "https://app.example.org/devices"
      configure(&$0)
    } body: {
      try await body($0)
    }
  }

  /// Returns the subjects of all mails so far. Each mail begins with the name of the site, and has one link at most.
  private func subjects(_ post: Post, _ test: TestServer) async -> [String] {
    await test.server.lasting.outbox.bell.waitUntilIdle()
    let name = test.server.pages.siteName
    return post.all.map { letter in
      #expect(letter.subject.hasPrefix(name + ": ") && letter.text.hasPrefix(name + "\n\n"))
      #expect(letter.text.matches(of: /https?:/).count <= 1, "\(letter.text)")
      return String(letter.subject.dropFirst(name.count + 2))
    }
  }

  @Test func `is told of a sign-in on a device that the account does not know, once`() async throws {
    let post = Post()
    try await run(post) { test in
      _ = try await test.signUp("Ada@example.org", device: "phone")
      _ = try await test.signIn(device: "phone")
      #expect(await subjects(post, test).isEmpty)
      _ = try await test.signIn(device: "laptop")
      _ = try await test.signIn(device: "laptop")
      #expect(await subjects(post, test) == ["New sign-in to your account"])
      let letter = try #require(post.all.first)
      #expect(letter.to == "Ada@example.org")
      for part in ["“laptop”", " UTC", "\nhttps://app.example.org/devices\n"] {
        #expect((letter.text + "\n").contains(part), "\(part)")
      }
      // Forgotten after 90 days.
      test.clock.advance(by: Registry.deviceMemory)
      _ = try await test.signIn(device: "laptop")
      #expect(await subjects(post, test).count == 2)
    }
  }

  @Test func `reads mails in the language of the page, or that of the last device`() async throws {
    let post = Post()
    try await run(post) { test in
      let phone = try await test.signUp(device: "phone")
      let browser = Browser(test.client.base)
      _ = try await browser.fill("/forgot-password?lang=de", "send", [("email", "ada@example.org")])
      #expect(await subjects(post, test) == ["Neues Passwort wählen"])
      #expect(post.all.last?.text.contains("läuft nach 30 Minuten ab") == true)
      _ = try await browser.signIn(at: "/sign-in")
      #expect(await subjects(post, test).last == "Neue Anmeldung in Ihrem Konto")
      #expect(post.all.last?.text.contains("Der angegebene Name ist “Ein Browser”.") == true)
      // A program does not say what its user reads.
      for _ in 0..<2 { _ = try await test.refresh(phone.refresh, key: .fresh) }
      #expect(await subjects(post, test).last == "Eine Sitzung Ihres Kontos wurde beendet")
      // The owner has chosen a language that the server has, and one that it lacks.
      for (locale, subject) in [("en-GB", "New sign-in to your account"), ("fr", "Neue Anmeldung in Ihrem Konto")] {
        var account = try #require(try await test.account())
        account.locale = LanguageTag(rawValue: locale)
        _ = try await test.server.registry.update(account)
        _ = try await Browser(test.client.base).signIn(at: "/sign-in?lang=de")
        #expect(await subjects(post, test).last == subject)
      }
    }
  }

  @Test func `reads a client's own name, also if browsers are called so`() async throws {
    let post = Post()
    let client = try ConfiguredClient(
      id: "app", name: "Firefox on Linux", redirectURIs: ["org.example.app:/back"], scopes: ["profile", "read"])
    try await run(
      post,
      {
        $0.clients = [client]
        $0.clientRegistration = StrangerRights(scopes: ["profile"])
      }
    ) { test in
      _ = try await test.signUp(device: "phone")
      let browser = Browser(test.client.base)
      _ = try await browser.signIn(at: "/sign-in?lang=de")
      var own = OAuthApp()
      let body = #"{"client_name":"A browser","redirect_uris":["http://localhost/cb"]}"#
      own.id = try #require(try await test.client.post("/oauth/register", json: body).json["client_id"])
      (own.redirect, own.scope) = ("http://localhost:52001/cb", "profile")
      for (app, name) in [
        (OAuthApp(), "“Firefox on Linux”"), (own, "“A browser”, ein Programm, das sich selbst registriert hat"),
      ] {
        #expect(try await app.redeem(try await app.code(browser), at: test).status == 200)
        #expect(await subjects(post, test).last == "Neue Anmeldung in Ihrem Konto")
        #expect(post.all.contains { $0.text.contains(name) }, "\(post.all.map(\.text))")
      }
    }
  }

  @Test func `is told of a changed password, with the device, and of a reset one`() async throws {
    let post = Post()
    try await run(post) { test in
      let session = try await test.signUp(device: "phone")
      #expect(try await test.changePassword(session.access, to: "another password", endingOthers: true).status == 204)
      #expect(await subjects(post, test) == ["Your password was changed"])
      #expect(post.all.last?.text.contains("“phone”") == true)
      try await test.requestResets("ada@example.org")
      #expect(await subjects(post, test).last == "Set a new password")
      let code = try #require(post.all.last?.code)
      #expect(try await test.confirmReset(code, "a third password").status == 204)
      #expect(await subjects(post, test).last == "Your password was changed")
      #expect(post.all.last?.text.contains("with a code from a mail") == true)
      #expect(post.all.count == 3)
    }
  }

  @Test func `is told of a copied token, and of nothing when a refresh is repeated`() async throws {
    let post = Post()
    try await run(post) { test in
      let session = try await test.signUp(device: "phone")
      let key = RotationKey.fresh
      for _ in 0..<2 { #expect(try await test.refresh(session.refresh, key: key).status == 200) }
      #expect(await subjects(post, test).isEmpty)
      #expect(try await test.refresh(session.refresh, key: .fresh).json["reason"] == "token_reuse")
      _ = try await test.refresh(session.refresh, key: .fresh)
      #expect(await subjects(post, test) == ["A session of your account was ended"])
      #expect(post.all.last?.text.contains("A refresh token or a sign-in code of your session") == true)
      #expect(post.all.last?.text.contains("“phone”") == true)
    }
  }

  @Test func `is told of what the operator wants, and of nothing without an address`() async throws {
    let post = Post()
    try await run(post, { $0.mail.notices = [.newDevice] }) { test in
      let guest = try await test.signInAnonymously()
      _ = try await test.refresh(guest.refresh, key: .fresh)
      _ = try await test.refresh(guest.refresh, key: .fresh)
      let session = try await test.signUp(device: "phone")
      #expect(try await test.changePassword(session.access, to: "another password", endingOthers: true).status == 204)
      #expect(await subjects(post, test).isEmpty)
    }
    try await TestServer.run { test in
      _ = try await test.signUp(device: "phone")
      _ = try await test.signIn(device: "laptop")
      let account = try #require(try await test.store.account(email: "ada@example.org"))
      #expect(try await test.store.items(.mail, subject: account.id.rawValue).isEmpty)
    }
  }

  @Test func `gets no stranger's words and no flood from a stranger with the password`() async throws {
    let post = Post()
    try await run(post) { test in
      _ = try await test.signUp(device: "phone")
      for number in 0..<20 { _ = try await test.signIn(device: "x\(number) http://evil.example/?a@b") }
      #expect(await subjects(post, test).count == 10)
      #expect(post.all.allSatisfy { !$0.text.contains("evil.example") && !$0.text.contains("a@b") })
      test.clock.advance(by: .seconds(3600))
      _ = try await test.signIn(device: "later")
      #expect(await subjects(post, test).count == 11)
    }
  }

  @Test(arguments: [
    ("Ada's iPhone (2)", "“Ada's iPhone (2)”"), ("Zoës MacBook", "“Zoës MacBook”"), ("", nil), ("://", nil),
    ("www.evil.example", "“www evil example”"), ("call +1 (900) 555-0199 now", "“call now”"),
    ("iPhone 15 Pro 256", "“iPhone 15 Pro 256”"),
    (String(repeating: "x", count: 200), "“\(String(repeating: "x", count: 40))”"),
  ])
  func `reads a device's name without links and numbers to call`(name: String, quoted: String?) {
    #expect(MailWriter.quoted(name) == quoted)
  }

  @Test func `gets no notice that the write of its event did not make`() async throws {
    let post = Post()
    try await run(post) { test in
      _ = try await test.signUp(device: "phone")
      test.store.fail(.writes)
      let failed = try await test.client.post("/v1/sign-in", json: TestServer.signInBody("ada@example.org"))
      #expect(failed.status == 503)
      test.store.fail(.none)
      #expect(await subjects(post, test).isEmpty)
    }
  }

  @Test func `leaves no notice behind with the account`() async throws {
    try await run(Post()) { test in
      _ = try await test.signUp(device: "phone")
      let session = try await test.signIn(device: "laptop")
      func notices() async throws -> Int { try await test.store.items(.mail, subject: session.account).count }
      #expect(try await notices() == 1)
      let registry = test.server.registry
      let account = try #require(try await registry.account(AccountID(session.account)))
      _ = try await registry.deleteAccount(account, now: test.clock.now)
      #expect(try await notices() == 0)
    }
  }
}
#endif
