public import HandstampCore
import HandstampSupport

extension Registry {
  /// Handles a refresh (RFC 6749 section 6) by applying the table of ``Rotation`` to the current row.
  ///
  /// - Parameters:
  ///   - token: the `refresh_token` parameter, any bytes.
  ///   - key: the `rotation_key` parameter, any bytes.
  ///   - client: the requesting client; `nil` for the server's own app.
  ///   - proof: the thumbprint of the key of the request's DPoP proof.
  ///   - terms: what is known of the client; that it proves itself also if the session is bound to its key.
  ///   - narrow: the grant of the access token within the session's. Called before anything is written.
  public func refresh(
    _ token: RefreshToken, key: Secret?, client: String? = nil, proof: String? = nil,
    terms: RefreshTerms = RefreshTerms(), now: UnixTime, narrow: @escaping GrantNarrowing = { $0 }
  ) async throws(RegistryError) -> RefreshOutcome {
    switch mint.read(token) {
    case .genuine(let claims):
      return try await refresh(claims, key: key, client: client, proof: proof, terms: terms, now: now, narrow: narrow)
    case .forged: return .forged
    case .unknownKey(let id): throw .unknownKey(id)
    }
  }

  /// Handles a refresh whose token was read before, see ``TokenMint/read(_:)-(RefreshToken)``.
  package func refresh(
    _ claims: RefreshClaims, key: Secret?, client: String?, proof: String?, terms: RefreshTerms, now: UnixTime,
    narrow: @escaping GrantNarrowing
  ) async throws(RegistryError) -> RefreshOutcome {
    let mark = key.flatMap { KeyMark(parameter: $0) }
    guard key == nil || mark != nil else { return .invalidRequest }
    // The sessions whose place this one has taken; `nil` before it has.
    var displaced: [SessionRow]?
    for _ in 0..<Registry.attempts {
      let (ended, drawn) = (displaced, KeyMark(rawValue: random()))
      let outcome: RefreshOutcome?
      do throws(RegistryStoreError) {
        outcome = try await store.change(claims.session) { row, stored -> Decision in
          guard let row else { return (.ended(.rejected), [], []) }
          guard row.client?.id == client else { return (.otherClient, [], []) }
          guard row.dpopThumbprint == nil || row.dpopThumbprint == proof else { return (.otherProof, [], []) }
          var terms = terms
          if row.dpopThumbprint != nil { terms.isConstrained = true }
          let grant: SessionClient?
          do { grant = try narrow(row.client) } catch { return (.notGranted, [], []) }
          let outcome = rotation.decide(
            row: row, token: claims, key: mark, drawn: drawn, terms: terms, now: now, stored: stored)
          guard case .issued(var issue) = outcome else { return writes(of: outcome, on: row, now: now) }
          // Taking the place of others is a write of its own: all of them have to be read for it.
          guard ended != nil || !issue.isFirstUse else { return (nil, [], []) }
          issue.grant = grant
          issue.displaced = ended ?? []
          return writes(of: .issued(issue), on: row, now: now)
        }
      } catch {
        if case .unavailable = error { throw RegistryError(error) }
        // The row has changed in the meantime: decide again.
        continue
      }
      switch outcome {
      case nil: displaced = try await recordFirstUse(of: claims.session.id, now: now)
      case .ended(let reason): return .ended(try await named(reason, of: claims.session.id))
      case let outcome?: return outcome
      }
    }
    throw Registry.contention
  }

  /// An outcome with the writes that carry it out; `nil` if the session has to take the place of others first.
  private typealias Decision = (value: RefreshOutcome?, changes: [RegistryChange], events: [RegistryEvent])

  private func writes(of outcome: RefreshOutcome, on row: SessionRow, now: UnixTime) -> Decision {
    switch outcome {
    case .issued(let issue):
      var changes: [RegistryChange] = []
      if issue.row.revision != row.revision { changes.append(.replaceSession(issue.row, expecting: row.revision)) }
      // A thief who refreshes within the overlap gets the same successor: the owner may want to know when.
      if issue.course == .repeated, !row.isKeyed {
        changes.append(audited(.refreshRepeated, account: row.account, session: row.id, at: now))
      }
      return (outcome, changes, [])
    case .theft(let ended, let sign):
      // The second use is an item, however often either party refreshes in the meantime.
      let end = ending(row, SessionEnd(at: now, reason: .tokenReuseDetected))
      let notice = notice(.tokenTheft, of: row.account, NoticedName(of: row), now: now)
      let audit = audited(
        .theftDetected, account: row.account, session: row.id, details: JSONText([("sign", sign.rawValue)]).text,
        at: now)
      return (outcome, end + [audit] + notice + TakeBack.pending.changes(of: row.account), [.revoked(ended, at: now)])
    case .superseded, .ended, .invalidRequest, .forged, .otherClient, .notGranted, .otherProof: return (outcome, [], [])
    }
  }

  /// Replaces `row` by `next`. Returns `false` if the stored row is no longer `row`.
  func replace(
    _ row: SessionRow, by next: SessionRow, with more: [RegistryChange] = []
  ) async throws(RegistryError) -> Bool {
    try await write(more + [.replaceSession(next, expecting: row.revision)], [])
  }

  /// Writes changes. Returns `false` if something that they expect has changed or is missing, or what they create exists.
  func write(
    _ changes: [RegistryChange], _ events: [RegistryEvent]
  ) async throws(RegistryError) -> Bool {
    do throws(RegistryStoreError) {
      try await store.write(changes, events: events)
      return true
    } catch {
      switch error {
      case .alreadyExists, .conflict, .notFound: return false
      case .unavailable: throw RegistryError(error)
      }
    }
  }
}

extension RefreshOutcome.Issue {
  /// Whether the session is used for the first time.
  fileprivate var isFirstUse: Bool { row.pending != nil && course != .repeated }
}

/// The first use of a session: by a refresh, by a request with its access token or its cookie, or by the word of its client.
///
/// A sign-in ends nothing, for its response may be lost. What it replaces ends with the first use of the new session, which only a
/// client that got the response can make.
extension Registry {
  /// Records that a session is used, and ends as `replaced` those whose place it takes, in one write: the ones that the device had when
  /// it began, and the least recently seen ones that exceed ``RegistryLimits/maxSessions``.
  ///
  /// A session that is no longer pending, or has ended, changes nothing. Nor does one whose device uses another that began later, or at
  /// the same time: it stays pending, and is used nevertheless.
  ///
  /// - Returns: the sessions that it ended.
  @discardableResult
  public func recordFirstUse(of row: SessionRow, now: UnixTime) async throws(RegistryError) -> [SessionRow] {
    row.pending == nil ? [] : try await recordFirstUse(of: row.id, now: now)
  }

  /// The same, for a session whose row the caller does not have.
  func recordFirstUse(of session: SessionID, now: UnixTime) async throws(RegistryError) -> [SessionRow] {
    for _ in 0..<Registry.attempts {
      guard let row = try await storedSession(session), let pending = row.pending, row.endReason(at: now) == nil else {
        return []
      }
      let live = try await liveSessions(of: row.account)
      let others = live.filter { $0.id != row.id && !pending.replaces.contains($0.id) }
      guard !others.contains(where: { $0.device.id == row.device.id && $0.pending == nil }) else { return [] }
      var next = row
      next.pending = nil
      next.revision += 1
      var (ended, changes): ([SessionRow], [RegistryChange]) = ([], [])
      let former = live.filter { !row.isBorrowed && pending.replaces.contains($0.id) }
      let left = try await left(by: pending, of: row, now: now)
      let replaced = try await withClients(
        former + excess(others, now: now), endingAs: .replaced, now: now
      ).filter { old in
        !left.contains { $0.id == old.id }
      }
      for (old, word) in replaced.map({ ($0, EndReason.replaced) }) + left.map({ ($0, .signedOut) }) {
        // A session that had already expired keeps that reason.
        let reason = old.endReason(at: now) ?? word
        ended.append(old.ended(reason, at: now))
        changes += ending(old, SessionEnd(at: now, reason: reason))
        // The browser is another person's, as its user says only now.
        let isDisowned = row.isBorrowed && pending.replaces.contains(old.id) && old.account == row.account
        let note =
          if isDisowned { forgetting(old.device.id, of: old.account, now: now) } else {
            try await read(try await remembering(old))
          }
        if old.device.id != row.device.id, let note { changes.append(note) }
      }
      changes.append(.replaceSession(next, expecting: row.revision))
      if try await write(changes, ended.map { .revoked($0, at: now) }) { return ended }
      // One of them has ended or was used in the meantime: decide again.
    }
    throw Registry.contention
  }

  /// The sessions in use that exceed ``RegistryLimits/maxSessions`` together with one more.
  private func excess(_ others: [SessionRow], now: UnixTime) -> [SessionRow] {
    guard let most = limits.maxSessions else { return [] }
    let used = others.filter { $0.pending == nil && $0.endReason(at: now) == nil }
    return Array(
      used.sorted { ($0.lastSeenAt, $0.id.rawValue) < ($1.lastSeenAt, $1.id.rawValue) }
        .prefix(max(0, used.count - (most - 1))))
  }

  /// The session of another account that the browser leaves, with those of clients that depend on it. A borrowed browser leaves that
  /// of the same account as well: it was begun as if the browser were the user's own.
  private func left(
    by pending: PendingSession, of next: SessionRow, now: UnixTime
  ) async throws(RegistryError) -> [SessionRow] {
    var left: [SessionRow] = []
    for id in pending.replaces {
      guard let row = try await storedSession(id), row.account != next.account || next.isBorrowed, row.end == nil else {
        continue
      }
      left.append(row)
    }
    return try await withClients(left, endingAs: .signedOut, now: now)
  }

  /// Sessions with those of clients that end with them.
  private func withClients(
    _ rows: [SessionRow], endingAs reason: EndReason, now: UnixTime
  ) async throws(RegistryError) -> [SessionRow] {
    rows + (try await read(try await dependents(of: rows, endingAs: reason, now: now))).filter { $0.end == nil }
  }

  /// The pending sessions that make room for one more of `device`: the oldest that exceed ``PendingSession/most``.
  func surplus(_ live: [SessionRow], for device: DeviceInfo) -> [SessionRow] {
    func oldest(_ rows: [SessionRow], beyond most: Int) -> [SessionRow] {
      Array(
        rows.sorted { ($0.createdAt, $0.id.rawValue) < ($1.createdAt, $1.id.rawValue) }
          .prefix(max(0, rows.count - (most - 1))))
    }
    let pending = live.filter { $0.pending != nil }
    let own = oldest(pending.filter { $0.device.id == device.id }, beyond: PendingSession.most)
    guard let most = limits.maxSessions else { return own }
    let rest = pending.filter { row in !own.contains { $0.id == row.id } }
    return own + oldest(rest, beyond: max(most, PendingSession.most))
  }

  /// The sessions whose place a new one of `device` takes with its first use.
  ///
  /// In an app, all of the device. In a browser, two pages may have signed in at once, and it has the cookie of the response that
  /// arrived last: what began within ``PendingSession/life`` before goes on.
  func replaced(_ live: [SessionRow], by kind: SessionKind, of device: DeviceInfo, now: UnixTime) -> [SessionID] {
    live.filter {
      $0.device.id == device.id && (kind != .browser || now.since($0.createdAt) >= PendingSession.life)
    }.map(\.id)
  }
}

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

/// How long access tokens live that any server of the store has issued: after the end of a session, its tokens can be presented
/// for so long to those who verify them by themselves. The setting may be lowered, and servers may differ, so each notes its own.
extension Registry {
  private static let subject = "access token"
  /// How much later than the end of its session a token may have been issued, by a refresh in flight.
  package static let tokenFlight = Duration.seconds(60)
  /// How far the clocks of a store's servers may differ.
  package static let clockDifference = Duration.seconds(300)

  /// Returns the time before which no session can have ended whose tokens may be valid still.
  ///
  /// - Parameter life: the longest life of an access token.
  package static func revocationHorizon(now: UnixTime, life: Duration) -> UnixTime {
    now.advanced(by: .zero - life - tokenFlight - clockDifference)
  }

  /// Notes that a server of the store issues access tokens with that life from now on. Call it before it does, and then
  /// periodically.
  ///
  /// - Parameter interval: the time until the next call, at most.
  public func noteTokenLife(_ life: Duration, every interval: Duration, now: UnixTime) async throws(RegistryError) {
    let item = StoredItem(
      id: StoredItemID(.tokenLife, String(life.wholeMilliseconds)), kind: .tokenLife, subject: Registry.subject,
      payload: String(life.wholeMilliseconds), createdAt: now,
      // Until the last token of a server is over that dies right before the next call.
      expiresAt: now.advanced(by: interval + life + Registry.clockDifference))
    try await write([.putItem(item)])
  }

  /// Returns the longest life of an access token that may be valid still; zero if none was noted.
  public func longestTokenLife(now: UnixTime) async throws(RegistryError) -> Duration {
    try await liveItems(.tokenLife, of: Registry.subject, now: now)
      .compactMap { Int64($0.payload) }.map { .milliseconds($0) }.max() ?? .zero
  }
}
