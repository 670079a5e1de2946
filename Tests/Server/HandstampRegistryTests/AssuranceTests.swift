import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampRegistry

@Suite(.timeLimit(.minutes(10))) struct `How a user has proved it` {
  private func passkey(isBackupEligible: Bool, _ world: World) async throws -> CredentialUse {
    let browser = try await world.registry.beginBrowserSession(
      by: .password(of: world.ada), on: .browser("b"), now: start)
    let record = PasskeyRecord(
      id: "one", account: world.ada.id, publicKey: [1], signCount: 0, isBackupEligible: isBackupEligible,
      isBackedUp: false, transports: [], name: "Key", createdAt: start)
    let isAdded = try await world.registry.addPasskey(
      record, to: world.ada, in: browser.row.id, challenge: challenge("1"), now: start)
    #expect(isAdded)
    let stored = try #require(try await world.registry.passkey("one"))
    let use = try await world.registry.credentialUse(
      for: stored, challenge: challenge("2"), now: start)
    return try #require(use)
  }

  private func challenge(_ text: String) -> OneTimeTokenRecord {
    OneTimeTokenRecord(usedNonce: text, at: start, until: after(.seconds(600)))
  }

  private let phone = DeviceInfo(id: DeviceID("phone"), name: "Phone", platform: "ios")

  /// Begins a session in one of all ways. A new way does not compile without its row here.
  private func session(by way: SignInWay, _ world: World) async throws -> (row: SessionRow, expected: String?) {
    let registry = world.registry
    switch way {
    case .password: return (try await world.signIn().row, "pwd")
    case .passkey:
      return (
        try await registry.createSession(
          by: try await passkey(isBackupEligible: false, world), SessionStart(device: phone), now: start
        ).row, "hwk user mfa"
      )
    case .recoveryCode:
      let browser = try await registry.beginBrowserSession(by: .password(of: world.ada), on: .browser("b"), now: start)
      let codes = try await registry.makeRecoveryCodes(by: browser, now: start)
      let code = try #require(codes.first)
      let use = try #require(
        try await registry.credentialUse(for: code, account: world.ada, on: "phone", now: start))
      return (try await registry.createSession(by: use, SessionStart(device: phone), now: start).row, "otp")
    case .passwordAndCode:
      let browser = try await registry.beginBrowserSession(by: .password(of: world.ada), on: .browser("b"), now: start)
      let setup = try registry.newTOTP(in: browser.row.id, now: start)
      let step = TOTPSecret.step(at: start)
      let isAdded = try await registry.addTOTP(
        setup, code: setup.secret.code(at: step), to: world.ada, in: browser.row.id, now: start)
      #expect(isAdded)
      let account = try #require(try await registry.account(world.ada.id))
      let record = try #require(try await registry.totp(of: account.id))
      let later = after(.seconds(60))
      let check = try await registry.check(totp: setup.secret.code(at: step + 2), of: account, record, now: later)
      guard case .use(let use) = check else { throw Unexpected("\(check)") }
      return (try await registry.createSession(by: use, SessionStart(device: phone), now: later).row, "pwd otp mfa")
    case .mailedCode:
      // It sets a password, and begins no session.
      return (try await world.signIn().row, "pwd")
    case .signUp:
      let new = try await registry.signUp(
        email: EmailAddress("new@example.org"), username: "New", passwordHash: Secret("$"), SessionStart(device: phone),
        now: start)
      return (new.row, "pwd")
    case .guest, .upgrade:
      let guest = try await registry.signUp(
        email: nil, username: "", passwordHash: nil, SessionStart(device: phone), now: start)
      guard way == .upgrade else { return (guest.row, nil) }
      let full = try await registry.upgrade(
        guest.account, to: .password(try #require(EmailAddress("full@example.org")), hash: Secret("$")),
        username: "Full", SessionStart(device: phone), now: start)
      return (full.row, "pwd")
    case .provider:
      let nonce = challenge("n")
      let new = try await registry.signIn(
        as: ExternalIdentity(issuer: "https://id.example", subject: "1"), username: "", SessionStart(device: phone),
        methods: AuthenticationMethods(provider: ["pwd", "a \"word\"", "mfa"]), nonce: nonce, now: start)
      return (new.row, "fed pwd mfa")
    case .authorizationCode:
      let browser = try await registry.beginBrowserSession(
        by: CredentialUse(account: world.ada, way: .passkey, methods: .passkey(mayBeCopied: true), changes: []),
        on: .browser("b"), now: start)
      var grant = CodeGrant(
        client: "app", clientName: "App", redirectURI: "app:/",
        challenge: "7w_YNF9DSfIdPf_pRjSq646_kPr-2-o9NAl16JGghdM", scope: "")
      grant.access.context = .multiFactor
      let code = try await registry.issueCode(grant, by: browser, now: start)
      guard case .signedIn(let new, _) = try await registry.redeemCode(code.secret, .sample, now: start) else {
        throw Unexpected("no session")
      }
      return (new.row, "swk user mfa")
    case .formerSession:
      let token = Secret("former")
      let new = try await registry.takeOver(
        try await registry.formerToken(#require(FormerToken.id(of: token))), token, for: world.ada,
        authenticatedAt: nil,
        FormerOrigin(SessionStart(device: phone)), ending: nil, now: start)
      return (new.row, nil)
    case .deviceCode:
      let browser = try await registry.beginBrowserSession(by: .password(of: world.ada), on: .browser("b"), now: start)
      let codes = try await registry.beginDevice(
        DeviceGrant(client: "tv", clientName: "TV", scope: ""), now: start)
      #expect(try await registry.answerDevice(showing: codes.user, by: browser, allows: true, now: start))
      guard case .signedIn(let new, _) = try await registry.redeemDevice(codes.device.secret, client: "tv", now: start)
      else { throw Unexpected("no session") }
      return (new.row, "pwd")
    }
  }

  private struct Unexpected: Error {
    var words: String
    init(_ words: String) { self.words = words }
  }

  @Test(arguments: SignInWay.allCases) func `is known of every session that begins`(way: SignInWay) async throws {
    let world = try await World()
    let (row, expected) = try await session(by: way, world)
    #expect(row.methods.text == expected)
    #expect(row.methods.asked == (way == .authorizationCode ? .multiFactor : nil))
    #expect(try await world.store.session(row.id)?.methods == row.methods)
    #expect(AuthenticationMethods(text: expected, asked: row.methods.asked) == row.methods)
  }

  @Test func `is what the last proof shows, and not to a previous cookie`() async throws {
    let world = try await World()
    let browser = try await world.registry.beginBrowserSession(
      by: .password(of: world.ada), on: .browser("b"), now: start)
    let user = try #require(try await world.registry.browserSession(browser.cookie, now: start))
    #expect(user.methods == .password)
    let later = after(.seconds(60))
    let strong = try await world.registry.reauthenticate(
      user, by: CredentialUse(account: world.ada, way: .passkey, methods: .passkey(mayBeCopied: true), changes: []),
      now: later)
    #expect(strong.methods.context == .phishingResistant)
    // Copied before, it shows neither the later time nor the later proof.
    let previous = try #require(try await world.registry.browserSession(browser.cookie, now: later))
    #expect(previous.methods == [] && previous.authenticatedAt == start)
    let present = try #require(try await world.registry.browserSession(strong.cookie, now: later))
    #expect(present.methods == .passkey(mayBeCopied: true) && present.authenticatedAt == later)
    // A weaker proof is the only one of its time.
    let weak = try await world.registry.reauthenticate(present, by: .password(of: world.ada), now: after(.seconds(90)))
    #expect(weak.methods == .password && weak.authenticatedAt == after(.seconds(90)))
  }

  @Test func `amounts to a context that others know`() {
    let (weak, code) = (AuthenticationMethods.password, AuthenticationMethods.passwordAndCode)
    let passkey = AuthenticationMethods.passkey(mayBeCopied: false)
    #expect(
      [weak, .recoveryCode, [], AuthenticationMethods(provider: ["hwk", "mfa"])].allSatisfy { $0.context == nil })
    #expect(code.contextReference == "https://refeds.org/profile/mfa" && passkey.contextReference == "phr")
    for (methods, met) in [(weak, [true, false, false]), (code, [true, true, false]), (passkey, [true, true, true])] {
      #expect([nil, .multiFactor, .phishingResistant].map { methods.amount(to: $0) } == met)
    }
    var asked = passkey
    asked.asked = .multiFactor
    #expect(asked.contextReference == "https://refeds.org/profile/mfa")
    var stronger = code
    stronger.asked = .phishingResistant
    #expect(stronger.contextReference == "https://refeds.org/profile/mfa", "asking does not make it so")
    #expect(AuthenticationContext.weakest(in: "phr https://refeds.org/profile/mfa") == .multiFactor)
    #expect(AuthenticationContext.weakest(in: "loa9 phr") == .phishingResistant)
    #expect(AuthenticationContext.weakest(in: "loa9") == nil && AuthenticationContext.weakest(in: nil) == nil)
  }

  @Test(arguments: ["", "a b", "\"", "\\", "ü", String(repeating: "a", count: 65)])
  func `is no word that a client could not read`(word: String) {
    #expect(AuthenticationMethod(rawValue: word) == nil)
    #expect(AuthenticationMethods(provider: [word]).text == "fed")
  }

  @Test func `is required by group, and of no guest`() async throws {
    let world = try await World()
    let rule = AssuranceRequirement(groups: ["*": .multiFactor, "staff": .phishingResistant])
    #expect(try await rule.context(of: world.ada, in: world.registry) == .multiFactor)
    try await world.registry.setGroups(["other", "staff"], of: world.ada, now: start)
    #expect(try await rule.context(of: world.ada, in: world.registry) == .phishingResistant)
    #expect(try await AssuranceRequirement().context(of: world.ada, in: world.registry) == nil)
    let guest = try await world.registry.signUp(
      email: nil, username: "", passwordHash: nil, SessionStart(device: phone), now: start)
    #expect(try await rule.context(of: guest.account, in: world.registry) == nil)
  }
}
