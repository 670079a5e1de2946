public import HandstampCore

/// Which master keys are needed. Sessions do not say with which their tokens were made: a server notes from time to time which key
/// is its current one, and a session that is younger than the last note of a key has no token of it.
extension Registry {
  /// How often servers note their key, twice: a server that was killed has used it for that long after its last note.
  package static let keyUseSlack = Duration.seconds(120)
  private static let page = 500
  /// When an item is looked at again that could not be sealed anew.
  private static let sealPause = Duration.seconds(3600)

  /// Notes that the current key of this registry makes tokens at this time. Call it periodically, and at the end.
  public func noteKeyUse(now: UnixTime) async throws(RegistryError) {
    let key = mint.keys.current
    // It outlasts every session.
    let item = StoredItem(
      id: StoredItemID(.masterKey, key.rawValue), kind: .masterKey, payload: "\(now.milliseconds) \(key)",
      createdAt: now, expiresAt: now.advanced(by: .seconds(3650 * 86_400)))
    try await write([.putItem(item)])
  }

  /// Returns when a server last noted that a key was its current one; `nil` if none ever did.
  public func lastUse(of key: KeyID) async throws(RegistryError) -> UnixTime? {
    try await item(StoredItemID(.masterKey, key.rawValue)).flatMap { Registry.use($0.payload)?.at }
  }

  private static func use(_ note: String) -> (at: UnixTime, key: KeyID)? {
    let parts = note.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, let at = Int64(parts[0]) else { return nil }
    return (UnixTime(milliseconds: at), KeyID(String(parts[1])))
  }

  /// The keys that servers have noted and that this one neither has nor refuses: its tokens are answered with 503.
  package func missingKeys() async throws(RegistryError) -> Set<KeyID> {
    let noted = try await items(.masterKey, of: "").compactMap { Registry.use($0.payload)?.key }
    return Set(noted).subtracting(mint.keys.keys.keys).subtracting(mint.keys.retired)
  }

  /// Counts what depends on each master key: on those of this registry, on those that servers have noted, and on those that
  /// something stored needs. Reads every item of the kinds that need one.
  package func keyDependents(now: UnixTime) async throws(RegistryError) -> [KeyID: KeyDependents] {
    var all: [KeyID: KeyDependents] = [:]
    for id in try await missingKeys().union(mint.keys.keys.keys) {
      var dependents = KeyDependents(lastUse: try await lastUse(of: id))
      // All, if none was noted.
      let time = id == mint.keys.current ? nil : dependents.lastUse?.advanced(by: Registry.keyUseSlack)
      let sessions = try await read(try await store.liveSessions(upTo: time))
      for purpose in TokenMint.Purpose.allCases {
        switch purpose.dependents {
        case .sessionsUntilRefresh: dependents.refreshTokens = sessions.refreshed
        case .sessions: dependents.handles = sessions.begun
        case .items, .nothing: continue
        }
      }
      all[id] = dependents
    }
    try await forEachItem { item in
      for id in item.expiresAt > now ? item.keys(at: now) : [] {
        all[id, default: KeyDependents()].items[item.kind, default: 0] += 1
      }
    }
    return all
  }

  /// The keys that something depends on and that this registry does not have: they are missing, or were retired.
  package func lostKeys(now: UnixTime) async throws(RegistryError) -> [KeyID: KeyDependents] {
    try await keyDependents(now: now).filter { mint.keys.keys[$0.key] == nil && !$0.value.isEmpty }
  }

  /// Seals with the current key whatever is sealed with another one, so that the other one can be retired. A text that cannot be
  /// opened stays as it is, and still depends on its key.
  package func resealAll(now: UnixTime) async throws(RegistryError) {
    try await forEachItem { item in
      guard let next = try? item.resealed(by: mint, now: now), next != item else { return }
      // One that was used at the same time is sealed anew.
      _ = try? await write([.replaceItem(next, expecting: item.revision)], [])
    }
  }

  private func forEachItem(_ body: (StoredItem) async -> Void) async throws(RegistryError) {
    for kind in TokenMint.Purpose.kinds.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      var last: StoredItemID?
      repeat {
        let items = try await read(try await store.items(kind, after: last, limit: Registry.page))
        for item in items { await body(item) }
        last = items.count == Registry.page ? items.last?.id : nil
      } while last != nil
    }
  }

  /// Seals secrets of authenticator apps with the current key that were sealed a week ago or earlier. One that cannot be is looked
  /// at again an hour later, and stops no other one.
  ///
  /// - Returns: how many it has looked at, and the failures.
  package func resealDue(
    now: UnixTime, limit: Int
  ) async throws(RegistryError) -> (count: Int, failures: [RegistryError]) {
    let due = try await read(try await store.dueItems(.totp, at: now, limit: limit))
    var failures: [RegistryError] = []
    for item in due {
      var next = item
      do throws(RegistryError) {
        next = try item.resealed(by: mint, now: now)
        next.dueAt = now.advanced(by: TOTPRecord.sealLife)
      } catch {
        failures.append(error)
        next.dueAt = now.advanced(by: Registry.sealPause)
      }
      do throws(RegistryError) { _ = try await write([.replaceItem(next, expecting: item.revision)], []) } catch {
        failures.append(error)
      }
    }
    return (due.count, failures)
  }
}
