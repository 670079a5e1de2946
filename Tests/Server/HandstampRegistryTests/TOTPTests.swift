import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampRegistry

@Suite(.timeLimit(.minutes(10))) struct `A one-time password by time` {
  /// RFC 6238 appendix B, SHA-1.
  @Test(arguments: [
    (59, "94287082"), (1_111_111_109, "07081804"), (1_111_111_111, "14050471"), (1_234_567_890, "89005924"),
    (2_000_000_000, "69279037"), (20_000_000_000, "65353130"),
  ]) func `is that of the standard`(seconds: Int64, code: String) {
    let secret = TOTPSecret(bytes: Array("12345678901234567890".utf8))
    let step = TOTPSecret.step(at: UnixTime(seconds: seconds))
    #expect(secret.code(at: step, digits: 8) == code)
    #expect(secret.code(at: step) == String(code.suffix(6)))
  }

  @Test func `counts within one step, with spaces or without`() throws {
    let secret = TOTPSecret(bytes: 0..<20)
    let present = TOTPSecret.step(at: start)
    for (offset, fits) in [(-2, false), (-1, true), (0, true), (1, true), (2, false)] as [(Int64, Bool)] {
      let code = secret.code(at: present + offset)
      #expect((secret.step(of: code, at: start) == present + offset) == fits, "\(offset)")
      for (between, around) in [(" ", " "), ("\u{A0}", "\n"), ("-", ""), ("\u{2013}", "."), ("\u{200B}", "\u{FEFF}")] {
        let typed = "\(around)\(code.prefix(3))\(between)\(code.suffix(3))\(around)"
        #expect((secret.step(of: typed, at: start) != nil) == fits, "\(typed)")
      }
      for zero in [0xFF10, 0x660, 0x966] as [UInt32] {
        let digits = code.unicodeScalars.compactMap { Unicode.Scalar(zero + $0.value - 48) }
        let typed = String(String.UnicodeScalarView(digits))
        #expect((secret.step(of: typed, at: start) != nil) == fits, "\(typed)")
      }
    }
    // The last instant of the step after, and the first of the next but one.
    let code = secret.code(at: present)
    #expect(secret.step(of: code, at: after(.milliseconds(59_999))) == present)
    #expect(secret.step(of: code, at: after(.seconds(60))) == nil)
    for wrong in ["", "12345", "1234567", "abcdef", code + "0", "0" + code, "-" + code.dropFirst(), "\u{0}"] {
      #expect(secret.step(of: wrong, at: start) == nil, "\(wrong)")
    }
    #expect(secret.step(of: "000000", at: UnixTime(seconds: -5)) == nil)
  }

  @Test func `has a secret that apps read`() {
    // RFC 4648 section 10.
    for (text, expected) in [("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"), ("fooba", "MZXW6YTB")]
    {
      #expect(TOTPSecret(bytes: Array(text.utf8)).text == Secret(expected))
    }
    for count in 16...64 {
      let secret = TOTPSecret(bytes: (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) })
      #expect(TOTPSecret(text: secret.text) == secret, "\(count)")
    }
    let typed = TOTPSecret(text: Secret("gezd gnbv gy3t qojq GEZD GNBV GY3T QOJQ===="))
    #expect(typed == TOTPSecret(bytes: Array("12345678901234567890".utf8)))
    let (short, long) = (TOTPSecret(bytes: 0..<15).text, TOTPSecret(bytes: 0..<65).text)
    for wrong in [short, long, Secret(""), Secret("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJ1")] {
      #expect(TOTPSecret(text: wrong) == nil)
    }
    let uri = TOTPSecret(bytes: Array("12345678901234567890".utf8)).uri(
      issuer: "Ada & Co: Ltd", name: "ada@example.org")
    #expect(
      uri.withExposed { $0 }
        == "otpauth://totp/Ada%20%26%20Co%20%20Ltd:ada%40example.org?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
        + "&issuer=Ada%20%26%20Co%20%20Ltd")
  }
}

@Suite(.timeLimit(.minutes(10))) struct `An authenticator app in the registry` {
  private func add(_ world: World, _ session: NewSession, now: UnixTime = start) async throws -> TOTPSecret {
    let setup = try world.registry.newTOTP(in: session.row.id, now: now)
    let code = setup.secret.code(at: TOTPSecret.step(at: now))
    let account = try #require(try await world.registry.account(world.ada.id))
    #expect(try await world.registry.addTOTP(setup, code: code, to: account, in: session.row.id, now: now))
    return setup.secret
  }

  private func check(
    _ secret: TOTPSecret, step: Int64, _ world: World, now: UnixTime
  ) async throws -> TOTPCheck {
    let account = try #require(try await world.registry.account(world.ada.id))
    let record = try #require(try await world.registry.totp(of: account.id))
    return try await world.registry.check(totp: secret.code(at: step), of: account, record, now: now)
  }

  private func signIn(by use: CredentialUse, _ world: World, on device: String = "laptop", now: UnixTime) async throws {
    _ = try await world.registry.createSession(
      by: use, SessionStart(device: DeviceInfo(id: DeviceID(device), name: device, platform: "linux")), now: now)
  }

  @Test func `is stored only after its first code, and sealed`() async throws {
    let world = try await World()
    let session = try await world.signIn()
    let setup = try world.registry.newTOTP(in: session.row.id, now: start)
    let account = try #require(try await world.registry.account(world.ada.id))
    #expect(
      try await !world.registry.addTOTP(setup, code: "12345", to: account, in: session.row.id, now: start))
    #expect(try await world.registry.totp(of: world.ada.id) == nil)
    let secret = try await add(world, session)
    let item = try #require(try await world.store.items(.totp, subject: world.ada.id.rawValue).first)
    let bytes = secret.secret.withExposedBytes { Array($0) }
    let text = secret.text.withExposed { $0 }
    let hex = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    for shown in [text, hex, Base64URL.encode(bytes)] {
      #expect(!item.payload.lowercased().contains(shown.lowercased()))
    }
    // Not a second one.
    let again = try world.registry.newTOTP(in: session.row.id, now: start)
    let now = try #require(try await world.registry.account(world.ada.id))
    #expect(
      try await !world.registry.addTOTP(
        again, code: again.secret.code(at: TOTPSecret.step(at: start)), to: now, in: session.row.id, now: start))
    #expect(try await check(secret, step: TOTPSecret.step(at: start) + 1, world, now: after(.seconds(30))) != .wrong)
  }

  @Test func `is set up by one session, within an hour`() async throws {
    let world = try await World()
    let (session, other) = (try await world.signIn(), try await world.signIn("laptop"))
    let setup = try world.registry.newTOTP(in: session.row.id, now: start)
    func read(_ sealed: String, in session: NewSession, now: UnixTime = start) throws -> TOTPSecret? {
      try world.registry.totpSetup(sealed, in: session.row.id, now: now)?.secret
    }
    #expect(try read(setup.sealed, in: session) == setup.secret)
    #expect(try read(setup.sealed, in: session, now: after(.milliseconds(3_599_999))) == setup.secret)
    #expect(try read(setup.sealed, in: session, now: after(.seconds(3600))) == nil)
    #expect(try read(setup.sealed, in: other) == nil)
    for wrong in ["", "k1", "k1.", "k1.AAAA", "..", setup.sealed + "A", String(setup.sealed.dropLast())] {
      #expect(try read(wrong, in: session) == nil, "\(wrong)")
    }
    #expect(throws: RegistryError.unknownKey(KeyID("k9"))) {
      try read(setup.sealed.replacing("k1.", with: "k9."), in: session)
    }
  }

  @Test func `shows each code once, and none that is older`() async throws {
    let world = try await World()
    let secret = try await add(world, try await world.signIn())
    let step = TOTPSecret.step(at: start)
    // That of the set-up, and the one before.
    #expect(try await check(secret, step: step, world, now: start) == .used)
    #expect(try await check(secret, step: step - 1, world, now: start) == .used)
    let (now, next) = (after(.seconds(30)), step + 1)
    guard case .use(let first) = try await check(secret, step: next, world, now: now),
      case .use(let second) = try await check(secret, step: next, world, now: now)
    else { return #expect(Bool(false)) }
    #expect(first.methods == .passwordAndCode)
    try await signIn(by: first, world, now: now)
    await #expect(throws: RegistryError.oneTimeTokenInvalid) {
      try await signIn(by: second, world, on: "tablet", now: now)
    }
    #expect(try await check(secret, step: next, world, now: now) == .used)
    #expect(try await check(secret, step: next - 1, world, now: now) == .used)
    // A copy of the account's record is of no use to another account.
    let eve = try await world.registry.openAccount(
      email: EmailAddress("eve@example.org"), username: "Eve", passwordHash: nil, now: start)
    let record = try #require(try await world.registry.totp(of: world.ada.id))
    let code = secret.code(at: next + 1)
    #expect(try await world.registry.check(totp: code, of: eve, record, now: after(.seconds(60))) == .wrong)
  }

  @Test func `begins one session for each code, however many ask at once`() async throws {
    let world = try await World()
    let secret = try await add(world, try await world.signIn())
    for round in 1...10 {
      let now = after(.seconds(30 * round))
      let step = TOTPSecret.step(at: now)
      let begun = try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<4 {
          group.addTask {
            guard case .use(let use) = try await check(secret, step: step, world, now: now) else { return false }
            return (try? await signIn(by: use, world, on: "device \(round) \(number)", now: now)) != nil
          }
        }
        return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(begun == 1)
    }
  }

  @Test func `stops a sign-in with the password alone that is under way`() async throws {
    let world = try await World()
    let session = try await world.signIn()
    let before = try #require(try await world.registry.account(world.ada.id))
    _ = try await add(world, session)
    await #expect(throws: RegistryError.accountChanged) { try await world.signIn("thief", before) }
  }

  @Test func `survives the rotation of master keys, once its secret was sealed anew`() async throws {
    let world = try await World()
    let secret = try await add(world, try await world.signIn())
    let old = world.registry.mint.keys
    var random = SystemRandomNumberGenerator()
    let fresh = try MasterKeys(drawing: KeyID("k2"), from: &random)
    let both = try MasterKeys(current: KeyID("k2"), keys: old.keys.merging(fresh.keys) { $1 })
    let retired = try both.retiring(KeyID("k1"))
    func answer(_ keys: MasterKeys, now: UnixTime) async throws -> TOTPCheck {
      let registry = Registry(store: world.store, mint: TokenMint(keys))
      let account = try #require(try await registry.account(world.ada.id))
      let record = try #require(try await registry.totp(of: account.id))
      return try await registry.check(
        totp: secret.code(at: TOTPSecret.step(at: now)), of: account, record, now: now)
    }
    let later = after(.seconds(60))
    #expect(try await answer(both, now: later) != .wrong)
    #expect(try await answer(retired, now: later) == .wrong)
    await #expect(throws: RegistryError.unknownKey(KeyID("k1"))) { try await answer(fresh, now: later) }
    let registry = Registry(store: world.store, mint: TokenMint(both))
    #expect(try await registry.resealDue(now: after(.seconds(7 * 86_400 - 1)), limit: 9).count == 0)
    let week = after(.seconds(7 * 86_400))
    #expect(try await registry.resealDue(now: week, limit: 9).count == 1)
    #expect(try await registry.resealDue(now: week, limit: 9).count == 0)
    #expect(try await answer(retired, now: week) != .wrong)
    // A server without the key leaves it as it is.
    try await Registry(store: world.store, mint: TokenMint(old)).resealAll(now: week)
    #expect(try await answer(retired, now: week.advanced(by: .seconds(30))) != .wrong)
  }

  @Test func `goes with the first proof of the address that is mailed, and with no later one`() async throws {
    for extent in [TakeBack.pending, .oneFactor, .waysIn] {
      let world = try await World()
      var now = start
      for isFirst in [true, false] {
        now = now.advanced(by: .seconds(3600))
        let account = try #require(try await world.registry.account(world.ada.id))
        _ = try await add(world, try await world.signIn("\(now)", account, now: now), now: now)
        let code = try await world.registry.mailedToken(.reset(try #require(account.email)), now: now)
        _ = try await world.registry.resetPassword(
          with: try #require(code), hash: Secret("$new"), takingBack: extent, now: now)
        #expect((try await world.registry.totp(of: world.ada.id) == nil) == isFirst, "\(extent)")
      }
    }
  }

  @Test
  func `is gone with the account, by its owner and when the account is taken back, not with a new password by mail`()
    async throws
  {
    for way in ["removal", "deletion", "take-back", "reset"] {
      let world = try await World()
      var registry = world.registry
      registry.notices = [.totpRemoved]
      let session = try await world.signIn()
      _ = try await add(world, session)
      let account = try #require(try await registry.account(world.ada.id))
      switch way {
      case "removal":
        #expect(try await registry.removeTOTP(of: account.id, in: session.row.id, now: start))
        #expect(try await !registry.removeTOTP(of: account.id, in: session.row.id, now: start))
        #expect(try await world.store.items(.mail, subject: account.id.rawValue).count == 1)
      case "deletion": _ = try await registry.deleteAccount(account, now: start)
      case "take-back": _ = try await registry.takeBack(account, now: start)
      default:
        let token = try await registry.issueResetCode(of: account, now: start)
        _ = try await registry.resetPassword(with: token, hash: Secret("$new"), now: start)
      }
      #expect(try await registry.totp(of: account.id) == nil || way == "reset", "\(way)")
      #expect(try await registry.totp(of: account.id) != nil || way != "reset", "\(way)")
    }
  }
}
