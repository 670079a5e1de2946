import HandstampCore

extension VaultCheck {
  func nothingIsAbsent() async throws {
    let (vault, other) = try await pair()
    var reading = await vault.read()
    try expect(reading == .absent, "a new store is read as absent", found: reading)
    let session = VaultSamples.session()
    let conditional: [VaultEdit] = [
      .prepare(session.id, holding: RefreshToken("t"), key: try key(1)),
      .advance(session.id, VaultSamples.refreshed(RefreshToken("t"), to: RefreshToken("u"))),
      .renew(session.id, holding: VaultSamples.access().credential, with: VaultSamples.access("new")),
      .identify(session.id, Profile(id: AccountID("ada"), name: "Ada")),
      .end(session.id, holding: nil, reason: .revoked, at: VaultSamples.moment()),
      .touch(session.id, at: VaultSamples.moment()),
    ]
    for edit in conditional {
      let outcome = await vault.edit(edit)
      guard case .conflict(let entry) = outcome, entry.isEmpty else {
        throw ConformanceError("an edit whose condition is not met is a conflict", found: "\(outcome)")
      }
    }
    for edit in [VaultEdit.signOut(.signedOut, at: VaultSamples.moment()), .delivered(session.id)] {
      let entry = try await done(vault, edit, "a sign-out or delivery without a session succeeds")
      try expect(entry.isEmpty, "a sign-out without a session stores nothing", found: entry)
    }
    reading = await other.read()
    try expect(reading == .absent, "none of these edits creates a session", found: reading)
  }

  func everyFieldComesBack() async throws {
    for session in VaultSamples.oddSessions {
      let (vault, other) = try await pair()
      let entry = try await done(vault, .begin(session), "a sign-in is stored")
      let seen = try await stored(other, "other vaults read the entry")
      try expect(entry.session == session && seen == entry, "a session is read back as stored", found: seen)
    }
  }

  func rotationKeyOfTheFirstWriterStays() async throws {
    let (vault, other) = try await pair()
    let session = VaultSamples.session()
    _ = try await done(vault, .begin(session), "a sign-in is stored")
    let token = RefreshToken("s1-refresh-0")
    let first = try await done(vault, .prepare(session.id, holding: token, key: try key(1)), "a key is stored")
    try expect(first.session?.pendingKey == (try key(1)), "the key is pending", found: first)
    let second = try await done(
      other, .prepare(session.id, holding: token, key: try key(2)), "a second key is not an error")
    try expect(second.session?.pendingKey == (try key(1)), "the first writer's key stays", found: second)
    let seen = try await stored(vault, "the session is stored")
    try expect(seen == first, "the second key is not stored", found: seen)
  }

  func staleWritersChangeNothing() async throws {
    let (vault, other) = try await pair()
    let session = VaultSamples.session()
    let before = try await done(vault, .begin(session), "a sign-in is stored")
    let stale = RefreshToken("s1-refresh-9")
    let stranger = SessionID("someone")
    let moment = VaultSamples.moment(9)
    let edits: [VaultEdit] = [
      .prepare(session.id, holding: stale, key: try key(1)),
      .prepare(stranger, holding: RefreshToken("s1-refresh-0"), key: try key(1)),
      .advance(session.id, VaultSamples.refreshed(stale, to: RefreshToken("n"), "late")),
      .advance(stranger, VaultSamples.refreshed(RefreshToken("s1-refresh-0"), to: RefreshToken("n"), "late")),
      .end(session.id, holding: stale, reason: .rejected, at: moment),
      .end(stranger, holding: nil, reason: .revoked, at: moment),
      .touch(stranger, at: moment),
    ]
    for edit in edits {
      let outcome = await other.edit(edit)
      try expect(outcome == .conflict(before), "a stale writer receives the stored entry", found: outcome)
    }
    let seen = try await stored(vault, "the session is stored")
    try expect(seen == before, "a stale writer changes nothing", found: seen)
  }

  func successorTakesThePlace() async throws {
    let (vault, other) = try await pair()
    let session = VaultSamples.session()
    let token = RefreshToken("s1-refresh-0")
    _ = try await done(vault, .begin(session), "a sign-in is stored")
    _ = try await done(vault, .prepare(session.id, holding: token, key: try key(1)), "a key is stored")
    let edit = VaultEdit.advance(
      session.id, VaultSamples.refreshed(token, to: RefreshToken("s1-refresh-1"), "new"))
    let entry = try await done(vault, edit, "a successor is stored")
    var expected = session
    expected.refresh = RefreshToken("s1-refresh-1")
    expected.isRotated = true
    expected.access = VaultSamples.access("new")
    try expect(entry.session == expected, "the successor replaces the token, and the key is removed", found: entry)
    let late = await other.edit(edit)
    try expect(late == .conflict(entry), "the same successor is not stored twice", found: late)
  }

  func endsLeaveTombstones() async throws {
    let (vault, other) = try await pair()
    let first = VaultSamples.session("s1")
    let second = VaultSamples.session("s2")
    _ = try await done(vault, .begin(first), "a sign-in is stored")
    var entry = try await done(other, .begin(second), "a second sign-in is stored")
    try expect(entry.session == second, "the second sign-in is the session", found: entry)
    try expect(
      entry.tombstone(of: first.id)?.reason == .replaced, "a sign-in buries the previous session", found: entry)
    entry = try await done(
      vault, .signOut(.signedOut, at: VaultSamples.moment(5), steps: ["jar", "store"]), "a sign-out is stored")
    let expected = Tombstone(
      session: second.id, reason: .signedOut, endedAt: VaultSamples.moment(5), revocation: second.revocation,
      account: second.profile?.id, steps: ["jar", "store"])
    try expect(
      entry.session == nil && entry.tombstone(of: second.id) == expected, "a sign-out buries the session", found: entry)
    var seen = try await stored(other, "tombstones are stored")
    try expect(seen == entry, "tombstones are read back as stored", found: seen)
    for id in [first.id, second.id] {
      entry = try await done(other, .delivered(id), "a delivery is stored")
      try expect(entry.tombstone(of: id)?.revocation == nil, "a delivered revocation is removed", found: entry)
    }
    entry = try await done(other, .cleaned(second.id, steps: ["jar"]), "a clean-up step is stored as done")
    try expect(entry.tombstone(of: second.id)?.steps == ["store"], "the other step remains", found: entry)
    entry = try await done(
      vault,
      .bury(Tombstone(session: first.id, reason: .idle, endedAt: VaultSamples.moment(6), revocation: nil)),
      "the end of a session is stored even if the session never was")
    try expect(entry.tombstone(of: first.id)?.reason == .idle, "the tombstone keeps its reason", found: entry)
    seen = try await stored(vault, "the last tombstone keeps its reason")
    try expect(seen == entry && seen.session == nil, "deliveries are read back as stored", found: seen)
  }

  func carriedSecretsAreReplaced() async throws {
    let (vault, other) = try await pair()
    let (first, second, third) = (
      VaultSamples.cookies("1"), VaultSamples.cookies("2"), VaultSamples.cookies("3")
    )
    var session = VaultSamples.session("s1")
    session.refresh = nil
    session.access = first
    session.revocation = RevocationHandle(first.credential.secret)
    _ = try await done(vault, .begin(session), "a sign-in is stored")
    _ = try await done(vault, .renew(session.id, holding: first.credential, with: second), "a renewal is done")
    var seen = try await stored(other, "the session is stored")
    try expect(seen.session?.access == second, "the cookies were replaced, and read back as cookies", found: seen)
    try expect(
      seen.session?.revocation?.secret == second.credential.secret, "and the revocation handle with it", found: seen)
    let late = await other.edit(.renew(session.id, holding: first.credential, with: third))
    guard case .conflict(let entry) = late, entry.session?.access == second else {
      throw ConformanceError("the second of two renewals of the same cookies is a conflict", found: "\(late)")
    }
    _ = try await done(vault, .signOut(.signedOut, at: VaultSamples.moment(3)), "a sign-out is done")
    let gone = await other.edit(.renew(session.id, holding: second.credential, with: third))
    guard case .conflict = gone else { throw ConformanceError("a renewal restores no session", found: "\(gone)") }
    seen = try await stored(vault, "the tombstone is stored")
    try expect(seen.session == nil, "a renewal restores no session", found: seen)
  }

  func revisionsRise() async throws {
    let (vault, other) = try await pair()
    let session = VaultSamples.session()
    var last: UInt64 = 0
    let writes: [VaultEdit] = [
      .begin(session), .touch(session.id, at: VaultSamples.moment(2)),
      .prepare(session.id, holding: RefreshToken("s1-refresh-0"), key: try key(3)),
      .signOut(.signedOut, at: VaultSamples.moment(3)), .delivered(session.id), .begin(session),
    ]
    for (index, edit) in writes.enumerated() {
      let entry = try await done(index.isMultiple(of: 2) ? vault : other, edit, "a write is done")
      try expect(entry.revision > last, "every write increases the revision", found: "\(entry.revision) after \(last)")
      last = entry.revision
    }
    let seen = try await stored(vault, "the session is stored")
    try expect(seen.revision == last, "the revision is stored", found: seen.revision)
  }

  /// The swap itself, and what remains of an entry without content.
  func staleRevisionsLose() async throws {
    let (vault, other) = try await pair()
    let entry = try await done(vault, .begin(VaultSamples.session()), "a sign-in is stored")
    var late = entry
    late.revision += 1
    for stale in [0, entry.revision - 1, entry.revision + 1] {
      let result = try await other.replace(stale, with: late, as: .ordinary)
      guard case .lost(let found) = result, found == nil || found == entry else {
        throw ConformanceError(
          "a replacement of another revision is lost, and tells the stored entry or none", found: "\(result)")
      }
    }
    let same = try await other.replace(entry.revision, with: entry, as: .ordinary)
    let seen = try await stored(vault, "the session is stored")
    try expect(same == .done && seen == entry, "an entry of the same revision changes nothing", found: seen)
    let empty = VaultEntry(revision: entry.revision + 1)
    guard try await vault.replace(entry.revision, with: empty, as: .response) == .done, await other.read() == .absent
    else { throw ConformanceError("an entry without content leaves the vault absent", found: "\(await other.read())") }
    let next = try await done(other, .begin(VaultSamples.session("s2")), "a sign-in is stored")
    try expect(next.revision > empty.revision, "revisions do not begin again", found: next.revision)
  }

  func key(_ byte: UInt8) throws -> RotationKey {
    guard let key = VaultSamples.key(byte) else { throw ConformanceError("a key has 16 bytes", found: "none") }
    return key
  }
}
