import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A keychain vault under faults` {
  let phone: Phone
  init() throws { phone = try Phone() }

  static let verdicts: [(KeychainStatus, String)] = [
    (.interactionNotAllowed, "locked"), (.interactionRequired, "locked"), (.authFailed, "locked"),
    (.userCanceled, "locked"), (.decode, "corrupt"), (.notAvailable, "unavailable"), (.readOnly, "permissions"),
    (.noAccessForItem, "permissions"), (.missingEntitlement, "unavailable"), (.diskFull, "full"), (.io, "unavailable"),
    (.param, "unavailable"), (.allocate, "unavailable"), (KeychainStatus(rawValue: -67_671), "unavailable"),
    (KeychainStatus(rawValue: .max), "unavailable"),
  ]

  /// A verdict is an error's code without `storage_`.
  @Test(arguments: verdicts)
  func `maps every status to an error, never to absent`(
    status: KeychainStatus, verdict: String
  ) async throws {
    let vault = phone.vault()
    let entry = try done(await vault.edit(.begin(phone.session)))
    let before = phone.device.items
    phone.device.intercept { _ in status }
    let reading = await vault.read()
    let outcome = await vault.edit(.touch(phone.session.id, at: VaultSamples.moment(4)))
    for trouble in [trouble(in: reading), trouble(in: outcome)] {
      let trouble = try #require(trouble)
      #expect(trouble.code == "storage_\(verdict)", "\(status): \(trouble)")
      #expect((trouble.detail == nil) == [.locked, .corrupt].contains(trouble))
      if let text = trouble.detail { #expect(!text.isEmpty && !text.contains("s1")) }
    }
    phone.device.intercept(nil)
    #expect(phone.device.items == before)
    #expect(await vault.read() == .value(entry))
  }

  /// An edit fails at each of its calls in turn and at all that follow, as if the program were killed there.
  @Test(arguments: ["begin", "again", "prepare", "advance", "end", "signOut"])
  func `holds the previous or the new session, wherever an edit is interrupted`(name: String) async throws {
    let key = try #require(VaultSamples.key(7))
    let token = RefreshToken("s1-refresh-0")
    let edit: VaultEdit =
      switch name {
      case "begin": .begin(VaultSamples.session("s2"))
      case "again": .begin(phone.session)
      case "prepare": .prepare(phone.session.id, holding: token, key: key)
      case "advance":
        .advance(phone.session.id, VaultSamples.refreshed(token, to: RefreshToken("s1-refresh-1"), "n"))
      case "end": .end(phone.session.id, holding: token, reason: .rejected, at: VaultSamples.moment(5))
      default: .signOut(.signedOut, at: VaultSamples.moment(5))
      }
    var wasWhole = false
    for limit in 0..<20 where !wasWhole {
      let phone = try Phone()
      let before = try done(await phone.vault().edit(.begin(phone.session)))
      guard case .write(let after) = edit.applied(to: before) else { throw Unexpected() }
      let count = Locked(0)
      phone.device.intercept { _ in
        count.withLock { count in
          count += 1
          return count > limit ? .notAvailable : nil
        }
      }
      _ = await phone.vault().edit(edit)
      wasWhole = count.withLock { $0 } <= limit
      phone.device.intercept(nil)
      guard case .value(let entry) = await phone.vault().read() else { throw Unexpected() }
      #expect(entry == before || entry == after, "interrupted after \(limit) calls")
      if wasWhole { #expect(entry == after) }
      phone.device.set(.locked)
      if case .accessOnly(let session) = await phone.vault().read() {
        #expect(session.id == entry.session?.id, "interrupted after \(limit) calls")
      }
    }
    #expect(wasWhole)
  }

  @Test(arguments: 0..<60)
  func `treats no damaged item as a session`(position: Int) async throws {
    let vault = phone.vault()
    _ = try done(await vault.edit(.begin(phone.session)))
    phone.device.change { items in
      for index in items.indices where items[index].key.service == "org.example.forum" {
        items[index].data[position % items[index].data.count] ^= 0x40
      }
    }
    #expect(await vault.read() == .trouble(.corrupt))
    #expect(await vault.edit(.touch(phone.session.id, at: VaultSamples.moment(4))) == .failed(.corrupt))
  }

  @Test(arguments: 0..<80)
  func `treats no truncated item as a session`(length: Int) async throws {
    let vault = phone.vault()
    _ = try done(await vault.edit(.begin(phone.session)))
    phone.device.change { items in
      for index in items.indices { items[index].data = Array(items[index].data.prefix(length)) }
    }
    #expect(await vault.read() == .trouble(.corrupt))
  }

  @Test func `sets a damaged item aside at the next sign-in, and removes it at a sign-out`() async throws {
    let vault = phone.vault()
    for name in ["s1", "s2", "s3"] {
      _ = try done(await vault.edit(.begin(VaultSamples.session(name))))
      phone.device.change { items in
        for index in items.indices where items[index].key.service == "org.example.forum" {
          items[index].data = Array("broken".utf8)
        }
      }
    }
    #expect(phone.asideItems.count == 2)
    let entry = try done(await vault.edit(.begin(VaultSamples.session("s4"))))
    #expect(phone.asideItems.count == 3 && entry.session?.id == SessionID("s4"))
    #expect(phone.asideItems.allSatisfy { $0.data == Array("broken".utf8) })
    _ = try done(await vault.edit(.signOut(.signedOut, at: VaultSamples.moment(9))))
    #expect(phone.asideItems.isEmpty)
  }

  @Test func `can sign out of an unreadable session`() async throws {
    let vault = phone.vault()
    _ = try done(await vault.edit(.begin(phone.session)))
    phone.device.change { items in for index in items.indices { items[index].data = [1] } }
    _ = try done(await vault.edit(.signOut(.signedOut, at: VaultSamples.moment(9))))
    #expect(phone.refreshItems.isEmpty && phone.accessItems.isEmpty && phone.asideItems.isEmpty)
    #expect(await vault.read() == .absent)
  }

  @Test func `leaves a newer version's item unchanged`() async throws {
    let vault = phone.vault()
    _ = try done(await vault.edit(.begin(phone.session)))
    phone.device.change { items in
      for index in items.indices where items[index].data.count > 12 {
        items[index].data[9] = 2
        items[index].data[11] = 253
      }
    }
    let before = phone.device.items
    for edit in [
      VaultEdit.begin(VaultSamples.session("s2")), .signOut(.signedOut, at: VaultSamples.moment(9)),
    ] {
      guard case .failed(.newerFormat) = await vault.edit(edit) else { throw Unexpected() }
    }
    guard case .trouble(.newerFormat) = await vault.read() else { throw Unexpected() }
    #expect(phone.device.items == before)
  }

  @Test func `gives no account another account's item`() async throws {
    _ = try done(await phone.vault("ada").edit(.begin(phone.session)))
    _ = try done(await phone.vault("bob").edit(.begin(VaultSamples.session("s2"))))
    let data = phone.refreshItems.map(\.data)
    phone.device.change { items in
      for index in items.indices where items[index].key.service == "org.example.forum" {
        items[index].data = items[index].data == data[0] ? data[1] : data[0]
      }
    }
    #expect(await phone.vault("ada").read() == .trouble(.corrupt))
    #expect(await phone.vault("bob").read() == .trouble(.corrupt))
  }

  @Test func `retries a write once after a race, and no more`() async throws {
    let vault = phone.vault()
    _ = try done(await phone.vault().edit(.begin(phone.session)))
    let misses = Locked(1)
    phone.device.intercept { call in
      guard case .update(let key, _) = call, key.service == "org.example.forum" else { return nil }
      return misses.withLock { misses in
        misses -= 1
        return misses >= 0 ? .itemNotFound : nil
      }
    }
    let entry = try done(await vault.edit(.touch(phone.session.id, at: VaultSamples.moment(4))))
    phone.device.intercept(nil)
    #expect(await vault.read() == .value(entry))
    phone.device.intercept { if case .update = $0 { .itemNotFound } else { nil } }
    let outcome = await vault.edit(.touch(phone.session.id, at: VaultSamples.moment(5)))
    guard case .failed(.unavailable) = outcome else { throw Unexpected() }
    phone.device.intercept(nil)
    #expect(await vault.read() == .value(entry))
  }

  private func trouble(in reading: VaultReading) -> VaultError? {
    if case .trouble(let trouble) = reading { trouble } else { nil }
  }

  private func trouble(in outcome: VaultOutcome) -> VaultError? {
    if case .failed(let trouble) = outcome { trouble } else { nil }
  }
}
