import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A keychain vault` {
  let phone: Phone
  init() throws { phone = try Phone() }

  @Test func `keeps the promises of a vault`() async throws {
    let phones = Phones()
    try await checkVault {
      try await phones.make().vault()
    } again: { vault in
      try await phones.phone(of: vault).vault()
    }
  }

  @Test func `keeps every storage class at its level`() async throws {
    _ = try done(await phone.vault().edit(.begin(phone.session)))
    #expect(phone.refreshItems.map(\.accessibility) == [.whenUnlockedThisDeviceOnly])
    #expect(phone.accessItems.map(\.accessibility) == [.afterFirstUnlockThisDeviceOnly])
    let other = try Phone()
    _ = try done(await other.vault(inBackground: true).edit(.begin(other.session)))
    #expect(other.refreshItems.map(\.accessibility) == [.afterFirstUnlockThisDeviceOnly])
    #expect(other.accessItems.map(\.accessibility) == [.afterFirstUnlockThisDeviceOnly])
  }

  @Test(arguments: [true, false])
  func `keeps the cookies of a session on this device, in both items`(inBackground: Bool) async throws {
    var session = phone.session
    (session.access, session.refresh) = (VaultSamples.cookies("1"), nil)
    _ = try done(await phone.vault(inBackground: inBackground).edit(.begin(session)))
    #expect(phone.accessItems.map(\.accessibility) == [.afterFirstUnlockThisDeviceOnly])
    let level = KeychainAccessibility.whenUnlockedThisDeviceOnly
    #expect(phone.refreshItems.map(\.accessibility) == [inBackground ? .afterFirstUnlockThisDeviceOnly : level])
    let cookies = phone.device.items.filter { String(decoding: $0.data, as: UTF8.self).contains("id=1") }
    #expect(Set(cookies.map(\.key)) == Set((phone.accessItems + phone.refreshItems).map(\.key)))
  }

  @Test func `binds an access item that backups may carry away to this device with its next write, in place`()
    async throws
  {
    let vault = phone.vault()
    _ = try done(await vault.edit(.begin(phone.session)))
    phone.device.change { items in
      for index in items.indices where items[index].key.service == "org.example.forum.access" {
        items[index].accessibility = .afterFirstUnlock
      }
    }
    let key = try #require(phone.accessItems.first?.key)
    let before = phone.device.calls.count
    let tokens = VaultSamples.refreshed(RefreshToken("s1-refresh-0"), to: RefreshToken("s1-refresh-1"), "new")
    _ = try done(await vault.edit(.advance(phone.session.id, tokens)))
    #expect(phone.accessItems.map(\.accessibility) == [.afterFirstUnlockThisDeviceOnly])
    for call in phone.device.calls.dropFirst(before) {
      switch call {
      case .delete(let other): #expect(other != key)
      case .add(let item): #expect(item.key != key)
      case .copy, .update: break
      }
    }
  }

  @Test(
    arguments: [
      (nil, KeychainAccessibility.whenUnlockedThisDeviceOnly),
      (.afterFirstUnlock, .whenUnlockedThisDeviceOnly), (.whenUnlocked, .whenUnlockedThisDeviceOnly),
      (.whenPasscodeSetThisDeviceOnly, .whenPasscodeSetThisDeviceOnly),
    ] as [(KeychainAccessibility?, KeychainAccessibility)])
  func `makes an item stricter if it was too weak, and never weaker`(
    stored: KeychainAccessibility?, then: KeychainAccessibility
  ) async throws {
    let vault = phone.vault()
    _ = try done(await vault.edit(.begin(phone.session)))
    phone.device.change { items in for index in items.indices { items[index].accessibility = stored } }
    _ = try done(await vault.edit(.touch(phone.session.id, at: VaultSamples.moment(4))))
    #expect(phone.refreshItems.map(\.accessibility) == [then])
  }

  @Test func `applies background refresh to the next session, never to the current one`() async throws {
    _ = try done(await phone.vault().edit(.begin(phone.session)))
    let vault = phone.vault(inBackground: true)
    _ = try done(await vault.edit(.touch(phone.session.id, at: VaultSamples.moment(4))))
    #expect(phone.refreshItems.map(\.accessibility) == [.whenUnlockedThisDeviceOnly])
    _ = try done(await vault.edit(.begin(VaultSamples.session("s2"))))
    #expect(phone.refreshItems.map(\.accessibility) == [.afterFirstUnlockThisDeviceOnly])
  }

  @Test func `shows neither name nor account outside the sealed data`() async throws {
    _ = await phone.vault("ada@example.org").edit(.begin(phone.session))
    for item in phone.device.items {
      #expect(!item.key.account.contains("ada") && !item.key.service.contains("ada"))
    }
    for name in phone.folder.names() { #expect(!name.contains("ada")) }
  }

  @Test(arguments: ["", "a/b", "ADA", "ada ", String(repeating: "x", count: 5000), "\u{0}"])
  func `keeps accounts apart, whatever their ids`(account: String) async throws {
    _ = await phone.vault("ada").edit(.begin(VaultSamples.session("other")))
    let vault = phone.vault(account)
    #expect(await vault.read() == .absent)
    _ = try done(await vault.edit(.begin(phone.session)))
    guard case .value(let entry) = await phone.vault("ada").read() else { throw Unexpected() }
    #expect(entry.session?.id == SessionID("other"))
  }

  @Test func `never deletes the refresh item to write it`() async throws {
    let vault = phone.vault()
    let key = try #require(VaultSamples.key(7))
    _ = try done(await vault.edit(.begin(phone.session)))
    _ = try done(await vault.edit(.prepare(phone.session.id, holding: RefreshToken("s1-refresh-0"), key: key)))
    let advance = VaultEdit.advance(
      phone.session.id,
      VaultSamples.refreshed(RefreshToken("s1-refresh-0"), to: RefreshToken("s1-refresh-1"), "new"))
    _ = try done(await vault.edit(advance))
    _ = try done(await vault.edit(.signOut(.signedOut, at: VaultSamples.moment(9))))
    let refreshKey = try #require(phone.refreshItems.first?.key)
    #expect(!phone.device.calls.contains(.delete(refreshKey)))
    let updates = phone.device.calls.filter { if case .update(refreshKey, _) = $0 { true } else { false } }
    #expect(updates.count == 4)
  }

  @Test func `leaves only a tombstone after a sign-out`() async throws {
    let vault = phone.vault()
    _ = try done(await vault.edit(.begin(phone.session)))
    let entry = try done(await vault.edit(.signOut(.signedOut, at: VaultSamples.moment(9))))
    #expect(entry.session == nil && entry.tombstones.count == 1)
    #expect(phone.accessItems.isEmpty)
    for item in phone.device.items {
      let text = String(decoding: item.data, as: UTF8.self)
      #expect(!text.contains("refresh-0") && !text.contains("s1-token"))
    }
  }

  @Test func `that cannot write a tombstone still removes the secrets, and reports it`() async throws {
    let vault = phone.vault()
    _ = try done(await vault.edit(.begin(phone.session)))
    phone.device.intercept { if case .update = $0 { .diskFull } else { nil } }
    guard case .failed = await vault.edit(.signOut(.signedOut, at: VaultSamples.moment(9))) else {
      throw Unexpected()
    }
    #expect(phone.refreshItems.isEmpty && phone.accessItems.isEmpty)
  }

  @Test func `writes a tombstone once removing the session makes space for it`() async throws {
    let vault = phone.vault()
    _ = try done(await vault.edit(.begin(phone.session)))
    let isFull = Locked(true)
    phone.device.intercept { call in
      guard case .update = call, isFull.withLock({ $0 }) else { return nil }
      isFull.withLock { $0 = false }
      return .diskFull
    }
    let entry = try done(await vault.edit(.signOut(.signedOut, at: VaultSamples.moment(9))))
    #expect(entry.tombstones.count == 1)
    #expect(await vault.read() == .value(entry))
  }

  @Test func `continues its revisions after all items were removed`() async throws {
    let vault = phone.vault()
    _ = try done(await vault.edit(.begin(phone.session)))
    let last = try done(await vault.edit(.touch(phone.session.id, at: VaultSamples.moment(4)))).revision
    phone.device.change { $0 = [] }
    #expect(try done(await vault.edit(.begin(phone.session))).revision == last + 1)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A keychain level` {
  @Test func `combined with another is as strict as both`() {
    for a in KeychainAccessibility.allCases {
      #expect(a.joined(with: a) == a && a.joined(with: nil) == a)
      for b in KeychainAccessibility.allCases {
        let join = a.joined(with: b)
        #expect(join == b.joined(with: a))
        #expect(join.joined(with: a) == join && join.joined(with: b) == join)
      }
    }
    #expect(
      KeychainAccessibility.whenUnlocked.joined(with: .afterFirstUnlockThisDeviceOnly) == .whenUnlockedThisDeviceOnly)
  }

  @Test func `matches its storage class`() {
    #expect(StorageClass.accessToken.accessibility == .afterFirstUnlockThisDeviceOnly)
    #expect(StorageClass.refreshToken(inBackground: false).accessibility == .whenUnlockedThisDeviceOnly)
    #expect(StorageClass.refreshToken(inBackground: true).accessibility == .afterFirstUnlockThisDeviceOnly)
    #expect(StorageClass.biometric.accessibility == .whenPasscodeSetThisDeviceOnly)
  }
}

/// Phones that live as long as the test.
actor Phones {
  private var all: [Phone] = []

  func make() throws -> Phone {
    let phone = try Phone()
    all.append(phone)
    return phone
  }

  func phone(of vault: KeychainVault) throws -> Phone {
    guard let phone = all.first(where: { $0.folder.vaults == vault.folder }) else { throw Unexpected() }
    return phone
  }
}
