import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampRegistry

/// An account with a browser that is signed in, and passkeys whose signatures were verified.
private struct Safe {
  let world: World
  let registry: Registry
  let browser: BrowserSession
  var account: AccountID { world.ada.id }

  init(_ world: World, notices: Set<AccountNotice> = []) async throws {
    self.world = world
    var registry = world.registry
    registry.notices = notices
    self.registry = registry
    browser = try await world.registry.beginBrowserSession(
      by: .password(of: world.ada), on: .browser("browser"), now: start)
  }

  /// The browser's session, with the account as it is now.
  var user: BrowserSession {
    get async throws { try #require(try await registry.browserSession(browser.cookie, now: start)) }
  }

  func passkey(_ id: String, count: UInt32 = 0) -> PasskeyRecord {
    PasskeyRecord(
      id: id, account: account, publicKey: [1, 2, 3], signCount: count, isBackupEligible: true, isBackedUp: true,
      transports: ["internal", "hybrid"], name: "Key & ring = \(id)", createdAt: start)
  }

  func challenge(_ text: String) -> OneTimeTokenRecord {
    OneTimeTokenRecord(usedNonce: text, at: start, until: after(.seconds(600)))
  }

  @discardableResult
  func add(_ id: String, challenge: UInt8? = nil) async throws -> Bool {
    let user = try await user
    return try await registry.addPasskey(
      passkey(id), to: user.account, in: user.row.id, challenge: self.challenge(challenge.map(String.init) ?? id),
      now: start)
  }

  func use(_ id: String, challenge: UInt8) async throws -> CredentialUse {
    let record = try #require(try await registry.passkey(id))
    return try #require(
      try await registry.credentialUse(
        for: record, challenge: self.challenge("\(challenge)"), now: after(.seconds(5))))
  }

  func signIn(by use: CredentialUse, on device: String = "phone") async throws -> NewSession {
    try await registry.createSession(
      by: use, SessionStart(device: DeviceInfo(id: DeviceID(device), name: device, platform: "ios")),
      now: after(.seconds(5)))
  }

  func sessions() async throws -> Int { try await registry.sessions(of: account, now: after(.seconds(5))).count }
}

@Suite(.timeLimit(.minutes(10))) struct `A passkey in the registry` {
  @Test func `is stored with all that is known of it`() async throws {
    let safe = try await Safe(World())
    #expect(try await safe.add("one"))
    #expect(try await safe.add("two"))
    #expect(Set(try await safe.registry.passkeys(of: safe.account)) == [safe.passkey("one"), safe.passkey("two")])
    #expect(try await safe.registry.passkey("two") == safe.passkey("two"))
    #expect(try await safe.registry.passkey("three") == nil)
    let day = after(.seconds(86_400 * 5000))
    _ = try await safe.registry.prune(now: day)
    #expect(try await safe.registry.passkeys(of: safe.account).count == 2)
    _ = try await safe.registry.deleteAccount(try await safe.user.account, now: start)
    #expect(try await safe.registry.passkeys(of: safe.account).isEmpty)
  }

  @Test func `does not sign in to a disabled account, even if it was verified before`() async throws {
    let safe = try await Safe(World())
    #expect(try await safe.add("one"))
    let use = try await safe.use("one", challenge: 7)
    let record = try #require(try await safe.registry.passkey("one"))
    _ = try await safe.registry.closeAccount(try await safe.user.account, now: start)
    #expect(
      try await safe.registry.credentialUse(
        for: record, challenge: safe.challenge("8"), now: after(.seconds(5))) == nil)
    await #expect(throws: RegistryError.self) { try await safe.signIn(by: use) }
    #expect(try await safe.sessions() == 0)
  }

  @Test func `is refused if any account has its ID, or its challenge was used`() async throws {
    let safe = try await Safe(World())
    #expect(try await safe.add("one", challenge: 1))
    #expect(try await !safe.add("one", challenge: 2))
    #expect(try await !safe.add("two", challenge: 1))
    let eve = try await safe.registry.openAccount(
      email: EmailAddress("eve@example.org"), username: "Eve", passwordHash: nil, now: start)
    let hers = try await safe.registry.beginBrowserSession(by: .password(of: eve), on: .browser("hers"), now: start)
    let added = try await safe.registry.addPasskey(
      safe.passkey("one"), to: eve, in: hers.row.id, challenge: safe.challenge("3"), now: start)
    #expect(!added)
    #expect(try await safe.registry.passkeys(of: eve.id).isEmpty)
    for number in 2...20 { #expect(try await safe.add("\(number)")) }
    #expect(try await !safe.add("21"))
  }

  @Test func `cannot be added by a session that has ended`() async throws {
    let safe = try await Safe(World())
    let user = try await safe.user
    _ = try await safe.registry.end(user.row.id, of: safe.account, now: start)
    await #expect(throws: RegistryError.accountChanged) {
      try await safe.registry.addPasskey(
        safe.passkey("one"), to: user.account, in: user.row.id, challenge: safe.challenge("1"), now: start)
    }
  }

  @Test func `begins one session for each answer`() async throws {
    let safe = try await Safe(World())
    try await safe.add("one")
    for round in UInt8(1)...30 {
      let use = try await safe.use("one", challenge: round)
      let before = try await safe.sessions()
      let begun = await withTaskGroup(of: Bool.self) { group in
        for number in 0..<4 {
          group.addTask { (try? await safe.signIn(by: use, on: "device \(round) \(number)")) != nil }
        }
        return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(begun == 1)
      #expect(try await safe.sessions() == before + 1)
    }
    #expect(try await safe.registry.hasUsed(safe.challenge("1")))
    #expect(try await !safe.registry.hasUsed(safe.challenge("99")))
    #expect(try await safe.registry.passkey("one")?.lastUsedAt == after(.seconds(5)))
  }

  @Test func `that was used elsewhere in between has to be read again`() async throws {
    let safe = try await Safe(World())
    try await safe.add("one")
    let (first, second) = (try await safe.use("one", challenge: 1), try await safe.use("one", challenge: 2))
    _ = try await safe.signIn(by: first)
    await #expect(throws: RegistryError.oneTimeTokenInvalid) { try await safe.signIn(by: second, on: "tablet") }
    let user = try await safe.user
    await #expect(throws: RegistryError.oneTimeTokenInvalid) {
      try await safe.registry.reauthenticate(user, by: second, now: start)
    }
    await #expect(throws: RegistryError.oneTimeTokenInvalid) { try await safe.registry.commit(second, now: start) }
    let again = try await safe.use("one", challenge: 2)
    _ = try await safe.registry.reauthenticate(user, by: again, now: start)
  }

  @Test func `that was removed signs in no more`() async throws {
    let safe = try await Safe(World())
    try await safe.add("one")
    let use = try await safe.use("one", challenge: 1)
    #expect(
      try await safe.registry.removePasskey("one", of: safe.account, in: safe.user.row.id, now: start)
        == .removed(safe.passkey("one")))
    #expect(
      try await safe.registry.removePasskey("one", of: safe.account, in: safe.user.row.id, now: start) == .unknown)
    await #expect(throws: RegistryError.oneTimeTokenInvalid) { try await safe.signIn(by: use) }
    #expect(try await safe.sessions() == 1)
  }

  @Test func `and the password are never removed both`() async throws {
    for _ in 0..<50 {
      let safe = try await Safe(World())
      try await safe.add("one")
      let user = try await safe.user
      async let password = try? safe.registry.removePassword(by: user, now: start)
      async let passkey = try? safe.registry.removePasskey("one", of: safe.account, in: user.row.id, now: start)
      let (isGone, removal) = (await password != nil, await passkey)
      let account = try #require(try await safe.registry.account(safe.account))
      let left = try await safe.registry.passkeys(of: safe.account).count
      #expect(account.passwordHash != nil || left == 1)
      #expect(isGone == (account.passwordHash == nil))
      #expect((removal == .removed(safe.passkey("one"))) == (left == 0))
    }
  }

  @Test func `remains if it is the last without a password, also of two that are removed at once`() async throws {
    for _ in 0..<50 {
      let safe = try await Safe(World())
      try await safe.add("one")
      try await safe.add("two")
      #expect(try await safe.registry.removePassword(by: safe.user, now: start)?.passwordHash == nil)
      let user = try await safe.user
      async let first = safe.registry.removePasskey("one", of: safe.account, in: user.row.id, now: start)
      async let second = safe.registry.removePasskey("two", of: safe.account, in: user.row.id, now: start)
      let both = [try await first, try await second]
      #expect(both.count { $0 == .isLast } == 1)
      #expect(try await safe.registry.passkeys(of: safe.account).count == 1)
    }
  }

  @Test func `is needed before the password is removed, and for a week a mailed code sets another`() async throws {
    let safe = try await Safe(World())
    #expect(try await safe.registry.removePassword(by: safe.user, now: start) == nil)
    #expect(try await safe.user.account.passwordHash != nil)
    try await safe.add("one")
    let reset = try await safe.registry.issueResetCode(of: safe.world.ada, now: start)
    let bare = try #require(try await safe.registry.removePassword(by: safe.user, now: start))
    #expect(try await safe.registry.account(forResetToken: reset, now: start) == nil)
    let mail = MailJob.reset(try #require(bare.email))
    let next = try #require(try await safe.registry.mailedToken(mail, now: start))
    _ = try await safe.registry.resetPassword(with: next, hash: Secret("$new"), now: start)
    let account = try await safe.registry.account(safe.account)
    #expect(account?.passwordHash == Secret("$new"))
    #expect(account?.emailConfirmedAt == start, "the mail has arrived")
    #expect(try await safe.registry.passkeys(of: safe.account).isEmpty, "it may be a stranger's")
  }

  @Test func `is the only way in a week after the password was removed, unless it is gone`() async throws {
    let safe = try await Safe(World())
    try await safe.add("one")
    var bare = try #require(try await safe.registry.removePassword(by: safe.user, now: start))
    let week = start.advanced(by: .seconds(7 * 86_400))
    let mail = MailJob.reset(try #require(bare.email))
    // Before the address was confirmed, a stranger may have set up the passkey.
    let squatted = try await Safe(World())
    try await squatted.add("one")
    _ = try await squatted.registry.removePassword(by: squatted.user, now: start)
    #expect(try await squatted.registry.mailedToken(mail, now: week) != nil)
    bare.emailConfirmedAt = start
    bare = try await safe.registry.update(bare)
    #expect(try await safe.registry.mailedToken(mail, now: week.advanced(by: .milliseconds(-1))) != nil)
    #expect(try await safe.registry.mailedToken(mail, now: week) == nil)
    let (_, code) = try await safe.registry.takeBack(bare, now: week)
    #expect(try await safe.registry.mailedToken(mail, now: week.advanced(by: .seconds(1))) != nil)
    _ = try await safe.registry.resetPassword(with: code, hash: Secret("$new"), now: week)
  }

  @Test func `stays at a reset if its owner says so`() async throws {
    let safe = try await Safe(World())
    try await safe.add("one")
    let reset = try await safe.registry.issueResetCode(of: safe.world.ada, now: start)
    _ = try await safe.registry.resetPassword(with: reset, hash: Secret("$new"), takingBack: .pending, now: start)
    #expect(try await safe.registry.passkeys(of: safe.account).count == 1)
  }

  @Test func `tells its owner, and the audit log`() async throws {
    let safe = try await Safe(World(), notices: Set(AccountNotice.allCases))
    try await safe.add("one")
    _ = try await safe.registry.removePasskey("one", of: safe.account, in: safe.user.row.id, now: start)
    _ = try await safe.registry.makeRecoveryCodes(by: safe.user, now: start)
    let kinds = try await safe.registry.dueJobs(MailJob.self, at: start, limit: 9)
      .compactMap { PayloadCoding.value(MailJob.self, $0.payload)?.kind.rawValue }.sorted()
    #expect(kinds == ["passkey-added", "passkey-removed", "recovery-codes-made"])
    let actions = try await safe.registry.auditedActions(limit: 99).map(\.audited.action)
    #expect(actions.suffix(3) == ["passkey.added", "passkey.removed", "recovery_codes.made"])
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A recovery code` {
  @Test func `is read as people type it`() throws {
    var random = SplitMix64(state: 7)
    let code = RecoveryCode(from: &random)
    #expect(code.text.count == 29)
    for typed in [
      code.text, code.text.uppercased(), code.text.replacing("-", with: " "), " " + code.characters,
      code.text.replacing("-", with: "\u{2013}") + ".\n", code.text.replacing("-", with: "\u{A0}\u{200B}"),
    ] {
      #expect(RecoveryCode(typed: typed) == code)
    }
    let zeros = String(repeating: "0000-", count: 6).dropLast()
    #expect(RecoveryCode(typed: String(zeros).replacing("0", with: "O"))?.text == String(zeros))
    let ones = String(repeating: "1", count: 24)
    #expect(RecoveryCode(typed: String(repeating: "lI1i", count: 6))?.characters == ones)
    for typed in [
      "", "u", ones + "1", String(ones.dropLast()), ones.replacing("1", with: "u"), String(repeating: "–", count: 300),
    ] {
      #expect(RecoveryCode(typed: typed) == nil)
    }
  }

  @Test func `works once, also when it is used twice at the same time`() async throws {
    let safe = try await Safe(World())
    let codes = try await safe.registry.makeRecoveryCodes(by: safe.user, now: start)
    #expect(Set(codes).count == 10)
    for code in codes {
      let account = try await safe.user.account
      let use = try #require(
        try await safe.registry.credentialUse(for: code, account: account, on: "Firefox", now: start))
      async let first = try? safe.signIn(by: use, on: "one")
      async let second = try? safe.signIn(by: use, on: "two")
      let begun = [await first, await second].count { $0 != nil }
      #expect(begun == 1)
      #expect(try await safe.registry.credentialUse(for: code, account: account, on: "Firefox", now: start) == nil)
    }
    #expect(try await safe.registry.recoveryCodesLeft(of: safe.account) == 0)
  }

  @Test func `is for one account, until there are new ones`() async throws {
    let safe = try await Safe(World())
    let codes = try await safe.registry.makeRecoveryCodes(by: safe.user, now: start)
    let eve = try await safe.registry.openAccount(
      email: EmailAddress("eve@example.org"), username: "Eve", passwordHash: nil, now: start)
    let hers = try await safe.registry.beginBrowserSession(by: .password(of: eve), on: .browser("hers"), now: start)
    _ = try await safe.registry.makeRecoveryCodes(by: hers, now: start)
    #expect(try await safe.registry.credentialUse(for: codes[0], account: eve, on: "", now: start) == nil)
    let old = try #require(
      try await safe.registry.credentialUse(for: codes[0], account: safe.world.ada, on: "", now: start))
    _ = try await safe.registry.makeRecoveryCodes(by: safe.user, now: start)
    #expect(try await safe.registry.credentialUse(for: codes[1], account: safe.world.ada, on: "", now: start) == nil)
    await #expect(throws: RegistryError.oneTimeTokenInvalid) { try await safe.signIn(by: old) }
    #expect(try await safe.registry.recoveryCodesLeft(of: safe.account) == 10)
    _ = try await safe.registry.deleteAccount(try await safe.user.account, now: start)
    #expect(try await safe.registry.recoveryCodesLeft(of: safe.account) == 0)
  }
}
