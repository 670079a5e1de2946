#if Programs
import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

/// A stranger who knows the password does whatever the account allows; then its owner takes it back. Nothing that the stranger has
/// kept works any more.
@Suite(.timeLimit(.minutes(10))) struct `An account that its owner takes back` {
  enum Way: CaseIterable, Sendable {
    /// A new password by a mailed code.
    case reset
    /// An administrator takes it back, and hands over a code.
    case administrator
    /// A new password and an end of all other sessions, at a signed-in browser. Passkeys and codes are listed, and removed there.
    case newPassword
    /// An end of all sessions, and nothing else: the password still signs in.
    case endOfAll
    /// A copied refresh token is noticed. That ends its session alone.
    case theft

    /// Which ways in are left, because the owner has not taken them back.
    var leaves: Set<String> {
      switch self {
      case .reset, .administrator, .newPassword: []
      case .endOfAll: ["password", "passkey", "recovery code"]
      case .theft:
        [
          "password", "passkey", "recovery code", "cookie", "access token", "refresh token", "refresh token of the app",
        ]
      }
    }

    /// The owner's password afterwards.
    var password: String {
      switch self {
      case .reset, .administrator, .newPassword: "a new password 7"
      case .endOfAll, .theft: TestServer.password
      }
    }
  }

  /// The things that a stranger has collected.
  private struct Loot {
    var sessions: [TestServer.Session] = []
    var browsers: [Browser] = []
    var recoveryCodes: [String] = []
    var links: [String] = []
    var codes: [String] = []
    var deviceCodes: [String] = []
    var passkeys: [String] = []
  }

  private static let thief = "thief@evil.example"

  @Test(arguments: Way.allCases) func `is the owner's alone`(way: Way) async throws {
    var random = SplitMix64(state: 40 + UInt64(Way.allCases.firstIndex(of: way) ?? 0))
    for _ in 0..<16 {
      let moves = (0..<Int.random(in: 1...7, using: &random)).map { _ in Int.random(in: 0..<8, using: &random) }
      let post = Post()
      let clients = try TestServer.clients()
      try await TestServer.run(mailer: post) {
        $0.clients = clients
      } body: { test in
        let owner = try await test.signUp()
        var loot = Loot()
        for move in [1] + moves { try await self.make(move, &loot, test, post) }
        try await self.takeBack(way, AccountID(owner.account), test, post)
        let left = try await self.tried(loot, AccountID(owner.account), way.password, test)
          .filter { !way.leaves.contains($0) }
        #expect(left.isEmpty, "\(way) after \(moves): \(left)")
      }
    }
  }

  @Test func `ends what a session has allowed with that session`() async throws {
    let post = Post()
    let clients = try TestServer.clients()
    try await TestServer.run(mailer: post) {
      $0.clients = clients
    } body: { test in
      let owner = try await test.signUp()
      var loot = Loot()
      for move in [1, 4, 6] { try await self.make(move, &loot, test, post) }
      let thief = try await test.client.get("/v1/sessions", token: owner.access).json[list: "sessions"]
        .first { $0["current"] == false }
      let id: String = try #require(thief?["id"])
      #expect(try await test.client.send("DELETE", "/v1/sessions/\(id)", token: owner.access).status == 204)
      #expect(try await OAuthApp().redeem(try #require(loot.codes.first), at: test).status == 400)
      test.clock.advance(by: .seconds(5))
      let device = try await test.oauth(
        "/oauth/token",
        [
          ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
          ("device_code", try #require(loot.deviceCodes.first)), ("client_id", "app"),
        ])
      #expect(device.json["error"] == "access_denied")
      #expect(try await test.server.registry.sessions(of: AccountID(owner.account), now: test.clock.now).count == 1)
    }
  }

  @Test func `has its owner's address again, also while it is disabled`() async throws {
    try await TestServer.run(mailer: Post()) { test in
      let ada = AccountID(try await test.signUp().account)
      let admin = test.server.administration(by: .machineUser("bob"))
      let record = try #require(try await test.server.registry.account(ada))
      var moved = record
      moved.email = EmailAddress(Self.thief)
      _ = try await test.server.registry.update(moved)
      try await admin.disable(ada)
      let taken = try await admin.takeBack(ada, email: "ada@example.org")
      await #expect(throws: AdministrationError.invalidEmail) { try await admin.takeBack(ada, email: "ada") }
      try await admin.enable(ada)
      #expect(try await test.client.post("/v1/sign-in", json: TestServer.signInBody(Self.thief)).status == 401)
      try await self.reset(taken.code.code.withExposed { $0 }, to: "a new password 7", test)
      let own = TestServer.signInBody("ada@example.org", password: "a new password 7")
      #expect(try await test.client.post("/v1/sign-in", json: own).status == 200)
    }
  }

  @Test func `gets its owner's address if it has none`() async throws {
    try await TestServer.run(mailer: Post()) { test in
      let ada = AccountID(try await test.signUp().account)
      let admin = test.server.administration(by: .machineUser("bob"))
      var bare = try #require(try await test.server.registry.account(ada))
      bare.email = nil
      _ = try await test.server.registry.update(bare)
      await #expect(throws: AdministrationError.noAddress) { try await admin.takeBack(ada) }
      let taken = try await admin.takeBack(ada, email: "ada@example.org")
      try await self.reset(taken.code.code.withExposed { $0 }, to: "a new password 7", test)
      let own = TestServer.signInBody("ada@example.org", password: "a new password 7")
      #expect(try await test.client.post("/v1/sign-in", json: own).status == 200)
    }
  }

  @Test func `has no code by a consent that was withdrawn, and no wish of a session that has ended`() async throws {
    let clients = try TestServer.clients()
    try await TestServer.run(mailer: Post()) {
      $0.clients = clients
    } body: { test in
      let ada = AccountID(try await test.signUp().account)
      let browser = try await Browser.signedIn(test)
      _ = try await OAuthApp().code(browser)
      let (registry, now) = (test.server.registry, test.clock.now)
      let cookie = try #require(browser.cookies[ResponseCookie.session])
      let user = try #require(try await registry.browserSession(Secret(cookie), now: now))
      let consent = try #require(try await registry.consent(of: ada, to: "app", now: now))
      let grant = CodeGrant(client: "app", clientName: "", redirectURI: "x", challenge: "x", scope: "profile")
      _ = try await registry.issueCode(grant, by: user, remembered: consent, now: now)
      let renewed = try #require(try await registry.consent(of: ada, to: "app", now: now))
      _ = try await registry.withdrawConsent(of: ada, to: "app", now: now)
      await #expect(throws: RegistryError.accountChanged) {
        try await registry.issueCode(grant, by: user, remembered: renewed, now: now)
      }
      _ = try await registry.end(user.row.id, of: ada, now: now)
      await #expect(throws: RegistryError.accountChanged) {
        try await registry.beginEmailChange(
          of: user.account, to: try #require(EmailAddress(Self.thief)), by: user.row.id, now: now)
      }
    }
  }

  private func make(_ move: Int, _ loot: inout Loot, _ test: TestServer, _ post: Post) async throws {
    let browser = loot.browsers.last ?? Browser(test.client.base)
    switch move {
    case 0: loot.sessions.append(try await test.signIn(device: "thief \(loot.sessions.count)"))
    case 1:
      let browser = Browser(test.client.base)
      _ = try await browser.signIn(at: "/sign-in")
      loot.browsers.append(browser)
    case 2:
      let page = try await browser.fill("/account/security", "make-codes")
      loot.recoveryCodes += page.text.matches(of: /<li><code>([^<]+)<\/code>/).map { String($0.output.1) }
      #expect(!loot.recoveryCodes.isEmpty)
    case 3:
      let address = "\(loot.links.count).\(Self.thief)"
      _ = try await browser.fill("/account/email", "change", [("new_email", address)])
      var link: String?
      while link == nil {
        let letter = try await post.next()
        if letter.to == address { link = letter.link }
      }
      loot.links.append(try #require(link))
    case 4: loot.codes.append(try await OAuthApp().code(browser))
    case 5:
      let answer = try await OAuthApp().redeem(try await OAuthApp().code(browser), at: test)
      loot.sessions.append(try TestServer.Session(answer))
    case 6:
      let answer = try await test.oauth("/oauth/device_authorization", [("client_id", "app"), ("scope", "profile")])
      let code: String = try #require(answer.json["user_code"])
      let page = try await browser.get("/device")
      let found = try await browser.press("look", on: page, at: "/device", [("user_code", code)])
      _ = try await browser.press("allow", on: found, at: "/device", [("user_code", code)])
      loot.deviceCodes.append(try #require(answer.json["device_code"]))
    default:
      let cookie = try #require(browser.cookies[ResponseCookie.session])
      let registry = test.server.registry
      let user = try #require(try await registry.browserSession(Secret(cookie), now: test.clock.now))
      let passkey = PasskeyRecord(
        id: "stranger-\(loot.passkeys.count)", account: user.account.id, publicKey: [1], signCount: 0,
        isBackupEligible: false, isBackedUp: false, transports: [], name: "stranger", createdAt: test.clock.now)
      let challenge = OneTimeTokenRecord(
        usedNonce: passkey.id, at: test.clock.now, until: test.clock.now.advanced(by: .seconds(600)))
      let isAdded = try await registry.addPasskey(
        passkey, to: user.account, in: user.row.id, challenge: challenge, now: test.clock.now)
      #expect(isAdded)
      loot.passkeys.append(passkey.id)
    }
  }

  private func takeBack(_ way: Way, _ account: AccountID, _ test: TestServer, _ post: Post) async throws {
    let new = way.password
    switch way {
    case .reset:
      _ = try await test.client.post("/v1/password-reset", json: #"{"email":"ada@example.org"}"#)
      var code: String?
      while code == nil {
        let letter = try await post.next()
        if letter.to == "ada@example.org" { code = letter.code }
      }
      try await reset(code ?? "", to: new, test)
    case .administrator:
      let taken = try await test.server.administration(by: .machineUser("bob")).takeBack(account)
      try await reset(taken.code.code.withExposed { $0 }, to: new, test)
    case .newPassword:
      let browser = try await Browser.signedIn(test)
      let fields = [("current_password", TestServer.password), ("new_password", new), ("end_others", "yes")]
      let done = try await browser.fill("/account/security", "change-password", fields)
      #expect(done.text.contains("Your other devices are signed out."))
      for passkey in try await test.server.registry.passkeys(of: account) {
        _ = try await browser.fill("/account/security", "remove-passkey", [("passkey_id", passkey.id)])
      }
      _ = try await browser.fill("/account/security", "make-codes")
    case .endOfAll:
      _ = try await test.server.administration(by: .machineUser("bob")).endSessions(of: account)
    case .theft:
      let stolen = try await test.signIn(device: "stolen")
      let next = try await test.refresh(stolen.refresh, key: .fresh)
      #expect(try await test.refresh(next.json["refresh_token"] ?? "", key: .fresh).status == 200)
      #expect(try await test.refresh(stolen.refresh, key: .fresh).status == 400)
      #expect(test.metrics.thefts == 1)
    }
  }

  private func reset(_ code: String, to password: String, _ test: TestServer) async throws {
    let answer = try await test.client.post(
      "/v1/password-reset/confirm", json: #"{"token":"\#(code)","new_password":"\#(password)"}"#)
    #expect(answer.status == 204)
  }

  /// Tries everything that the stranger has, and returns what works.
  private func tried(
    _ loot: Loot, _ account: AccountID, _ password: String, _ test: TestServer
  ) async throws -> [String] {
    var left: [String] = []
    for session in loot.sessions {
      if try await test.client.get("/v1/me", token: session.access).status == 200 { left.append("access token") }
      for key in [RotationKey.fresh, nil] {
        if try await test.refresh(session.refresh, key: key).status == 200 { left.append("refresh token") }
      }
      if try await OAuthApp().refresh(session.refresh, at: test).status == 200 {
        left.append("refresh token of the app")
      }
    }
    for link in loot.links {
      let token = String(link.split(separator: "=")[1])
      for browser in loot.browsers {
        let page = try await browser.get("/sign-in")
        if try await browser.press("use", on: page, at: "/account/email/confirm", [("token", token)]).status == 200 {
          left.append("link to a new address")
        }
      }
    }
    for browser in loot.browsers where try await browser.get("/account").status == 200 { left.append("cookie") }
    for code in loot.codes where try await OAuthApp().redeem(code, at: test).status == 200 { left.append("code") }
    for code in loot.deviceCodes {
      test.clock.advance(by: .seconds(5))
      let fields = [("grant_type", "urn:ietf:params:oauth:grant-type:device_code"), ("device_code", code)]
      if try await test.oauth("/oauth/token", fields + [("client_id", "app")]).status == 200 {
        left.append("device code")
      }
    }
    for code in loot.recoveryCodes.prefix(2) {
      let fields = [("email", "ada@example.org"), ("recovery_code", code)]
      if try await Browser(test.client.base).fill("/recover", "recover", fields).status == 303 {
        left.append("recovery code")
      }
    }
    for passkey in loot.passkeys where try await test.server.registry.passkey(passkey) != nil { left.append("passkey") }
    let signIn = try await test.client.post("/v1/sign-in", json: TestServer.signInBody("ada@example.org"))
    if signIn.status == 200 { left.append("password") }
    let record = try await test.server.registry.account(account)
    if record?.email?.typed != "ada@example.org" { left.append("address") }
    let own = try await test.client.post(
      "/v1/sign-in", json: TestServer.signInBody("ada@example.org", password: password, device: "owner"))
    if own.status != 200 { left.append("the owner is locked out: \(own.status)") }
    return left
  }
}
#endif
