import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A keychain vault on a locked device` {
  let phone: Phone
  init() throws { phone = try Phone() }

  @Test func `serves only the access token`() async throws {
    let vault = phone.vault()
    let entry = try done(await vault.edit(.begin(phone.session)))
    phone.device.set(.locked)
    #expect(await vault.read() == .accessOnly(phone.session.withAccessOnly))
    #expect(await vault.edit(.touch(phone.session.id, at: VaultSamples.moment(4))) == .failed(.locked))
    #expect(await vault.edit(.signOut(.signedOut, at: VaultSamples.moment(4))) == .failed(.locked))
    #expect(await vault.edit(.begin(VaultSamples.session("s2"))) == .failed(.locked))
    phone.device.set(.unlocked)
    #expect(await vault.read() == .value(entry))
  }

  @Test func `refreshes in the background if so configured`() async throws {
    let vault = phone.vault(inBackground: true)
    _ = try done(await vault.edit(.begin(phone.session)))
    phone.device.set(.locked)
    let key = try #require(VaultSamples.key(7))
    let entry = try done(await vault.edit(.prepare(phone.session.id, holding: RefreshToken("s1-refresh-0"), key: key)))
    #expect(entry.session?.pendingKey == key)
  }

  @Test(arguments: [true, false], [true, false])
  func `is never absent before the first unlock`(hides: Bool, inBackground: Bool) async throws {
    let vault = phone.vault(inBackground: inBackground)
    let entry = try done(await vault.edit(.begin(phone.session)))
    if hides { phone.device.hideBeforeFirstUnlock() }
    phone.device.set(.beforeFirstUnlock)
    #expect(await vault.read() == .trouble(.locked))
    #expect(await vault.edit(.begin(VaultSamples.session("s2"))) == .failed(.locked))
    phone.device.set(.unlocked)
    #expect(await vault.read() == .value(entry))
  }

  @Test(arguments: [true, false], [EmulatedKeychain.Lock.locked, .beforeFirstUnlock])
  func `is locked rather than absent even without a session`(hides: Bool, lock: EmulatedKeychain.Lock) async throws {
    let vault = phone.vault()
    if hides { phone.device.hideBeforeFirstUnlock() }
    phone.device.set(lock)
    #expect(await vault.read() == .trouble(.locked))
    #expect(phone.device.items.isEmpty)
    phone.device.set(.unlocked)
    #expect(await vault.read() == .absent)
    // The same with an existing canary.
    phone.device.set(lock)
    #expect(await vault.read() == .trouble(.locked))
  }

  /// The level of a vault changes with `inBackground`, in an update of the app.
  @Test(arguments: [true, false])
  func `is not taken for absent because of a canary of another level`(inBackground: Bool) async throws {
    #expect(await phone.vault(inBackground: !inBackground).read() == .absent)
    phone.device.set(.locked)
    #expect(await phone.vault(inBackground: inBackground).read() == .trouble(.locked))
    phone.device.set(.unlocked)
    #expect(await phone.vault(inBackground: inBackground).read() == .absent)
    #expect(Set(phone.device.items.filter(phone.isCanary).map(\.accessibility)).count == 2)
  }

  @Test func `reads again after the canary has answered`() async throws {
    let vault = phone.vault()
    let entry = try done(await vault.edit(.begin(phone.session)))
    #expect(await phone.vault("bob").read() == .absent)
    phone.device.hideBeforeFirstUnlock()
    phone.device.set(.beforeFirstUnlock)
    // The device is unlocked between the first read and the canary.
    let device = phone.device
    device.intercept { call in
      guard case .copy(let key) = call, key.service.hasSuffix(".canary") else { return nil }
      return KeychainStatus(rawValue: 1)
    }
    #expect(await vault.read() == .trouble(.unavailable("keychain error 1")))
    let looks = Locked(0)
    device.intercept { call in
      guard case .copy(let key) = call, key.service == "org.example.forum" else { return nil }
      return looks.withLock { looks in
        looks += 1
        return looks == 1 ? .itemNotFound : nil
      }
    }
    device.set(.unlocked)
    #expect(await vault.read() == .value(entry))
    #expect(looks.withLock { $0 } == 2)
  }

  @Test func `shows no ended session`() async throws {
    let vault = phone.vault()
    _ = try done(await vault.edit(.begin(phone.session)))
    _ = try done(await vault.edit(.signOut(.signedOut, at: VaultSamples.moment(9))))
    phone.device.set(.locked)
    #expect(await vault.read() == .trouble(.locked))
  }

  @Test func `without a passcode keeps a session that does not need one`() async throws {
    let vault = phone.vault()
    let entry = try done(await vault.edit(.begin(phone.session)))
    phone.device.removePasscode()
    #expect(await vault.read() == .value(entry))
  }
}
