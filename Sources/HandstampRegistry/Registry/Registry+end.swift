public import HandstampCore

/// What came of ending sessions.
public struct EndOutcome: Sendable, Hashable {
  /// Those that ended just now. Empty when all were over before, which is as good.
  public var ended: [SessionRow]
  public var events: [StoredEvent]

  static let nothing = EndOutcome(ended: [], events: [])
}

extension Registry {
  /// Ends the session that a refresh token or a revocation handle names (RFC 7009). Any genuine token of the session will do,
  /// whatever its counter. Garbage and unknown sessions change nothing, and that is no error.
  ///
  /// Fails with ``RegistryError/unknownKey(_:)`` when the key is missing here: the client should ask again later.
  public func revoke(
    _ presented: Secret, reason: EndReason = .signedOut, now: UnixTime
  ) async throws(RegistryError) -> EndOutcome {
    let session: SessionBytes
    switch (mint.read(RefreshToken(presented)), mint.read(RevocationHandle(presented))) {
    case (.genuine(let claims), _): session = claims.session
    case (_, .genuine(let named)): session = named
    case (.unknownKey(let id), _), (_, .unknownKey(let id)): throw .unknownKey(id)
    case (.forged, .forged): return .nothing
    }
    return try await end(reason, now: now) { () throws(RegistryStoreError) in
      try await store.session(session.id).map { [$0] } ?? []
    }
  }

  /// Ends one session of this account. Fails with ``RegistryError/missing`` when the account has none of that id: whose it is
  /// else is not told.
  public func end(
    _ id: SessionID, of account: AccountID, reason: EndReason = .revoked, now: UnixTime
  ) async throws(RegistryError) -> EndOutcome {
    let row = try await reading { () throws(RegistryStoreError) in try await store.session(id) }
    guard let row, row.account == account else { throw .missing }
    return try await end(reason, now: now) { () throws(RegistryStoreError) in
      try await store.session(id).map { [$0] } ?? []
    }
  }

  /// Ends all sessions of an account, but for the one that asks, in one write.
  public func endAll(
    of account: AccountID, except kept: SessionID? = nil, reason: EndReason = .revoked, now: UnixTime
  ) async throws(RegistryError) -> EndOutcome {
    try await end(reason, now: now) { () throws(RegistryStoreError) in
      try await store.sessions(of: account).filter { $0.id != kept }
    }
  }

  /// Writes down that sessions are over which nobody used in time, at most `limit` of them; to be called now and then.
  /// A session that is over is refused also before this was called.
  public func expire(now: UnixTime, limit: Int = 500) async throws(RegistryError) -> EndOutcome {
    // One that a refresh just extended is no longer over and stays.
    try await end(.expired, now: now, onlyUnchanged: true) { () throws(RegistryStoreError) in
      try await store.expired(at: now, limit: limit).filter { $0.over(at: now) != nil }
    }
  }

  /// Notes that a session is in use, at most once a minute. Returns whether anything was written.
  @discardableResult
  public func touch(_ row: SessionRow, now: UnixTime) async throws(RegistryError) -> Bool {
    guard row.over(at: now) == nil else { return false }
    guard now.since(row.lastSeenAt) >= limits.touchInterval(idleLimit: row.idleLimit) else { return false }
    var seen = row
    seen.lastSeenAt = now
    seen.revision += 1
    // Whoever was faster has seen it too.
    return try await replace(row, by: seen) != nil
  }

  /// Gives the device of a session another name. Fails with ``RegistryError/missing`` when the account has no such session
  /// that lasts.
  public func rename(
    _ id: SessionID, of account: AccountID, to name: String, now: UnixTime
  ) async throws(RegistryError) -> SessionRow {
    try await change(id, of: account, now: now) { row in
      row.device = DeviceInfo(id: row.device.id, name: name, platform: row.device.platform)
    }
  }

  /// Notes where a push message for the device of a session may be sent; nothing for nowhere. Forgotten when the session ends.
  /// Fails with ``RegistryError/missing`` when the account has no such session that lasts.
  @discardableResult
  public func setPushToken(
    _ token: Secret?, for id: SessionID, of account: AccountID, now: UnixTime
  ) async throws(RegistryError) -> SessionRow {
    try await change(id, of: account, now: now) { $0.pushToken = token }
  }

  private func change(
    _ id: SessionID, of account: AccountID, now: UnixTime, _ change: (inout SessionRow) -> Void
  ) async throws(RegistryError) -> SessionRow {
    for _ in 0..<Registry.attempts {
      guard let row = try await session(id, now: now), row.account == account else { throw .missing }
      var next = row
      change(&next)
      guard next != row else { return row }
      next.revision += 1
      if try await replace(row, by: next) != nil { return next }
    }
    throw Registry.contention
  }

  /// Ends whatever `rows` names and is not over, in one write. A session that had expired unnoticed says so.
  ///
  /// - Parameter onlyUnchanged: whether nothing ends where somebody wrote to a session meanwhile, and it is decided anew.
  ///   Otherwise nobody keeps a session by refreshing it all the time.
  func end(
    _ reason: EndReason, now: UnixTime, with more: [RegistryChange] = [], events moreEvents: [RegistryEvent] = [],
    onlyUnchanged: Bool = false, rows: () async throws(RegistryStoreError) -> [SessionRow]
  ) async throws(RegistryError) -> EndOutcome {
    for _ in 0..<Registry.attempts {
      let found = try await reading(rows).filter { $0.end == nil }
      guard !found.isEmpty || !more.isEmpty else { return .nothing }
      var (ended, changes): ([SessionRow], [RegistryChange]) = ([], [])
      for row in found {
        let end = SessionEnd(at: now, reason: row.over(at: now) ?? reason)
        let next = row.ended(end.reason, at: end.at)
        ended.append(next)
        changes.append(onlyUnchanged ? .replaceSession(next, expecting: row.revision) : .endSession(row.id, end))
      }
      do throws(RegistryStoreError) {
        let events = ended.map { RegistryEvent.revoked($0, at: now) }
        return EndOutcome(
          ended: ended, events: try await store.write(more + changes, events: moreEvents + events))
      } catch {
        switch error {
        case .changed, .missing:
          // Of the account's record only the caller can tell what a change means.
          if !more.isEmpty, try await !stillHold(more) { throw .accountChanged }
        case .exists: throw .emailTaken
        case .unavailable: throw RegistryError(error)
        }
      }
    }
    throw Registry.contention
  }

  private func stillHold(_ changes: [RegistryChange]) async throws(RegistryError) -> Bool {
    for change in changes {
      switch change {
      case .replaceAccount(let record, let expecting):
        let stored = try await reading { () throws(RegistryStoreError) in try await store.account(record.id) }
        if stored?.revision != expecting { return false }
      case .expectAccount(let id, let revision):
        let stored = try await reading { () throws(RegistryStoreError) in try await store.account(id) }
        if stored?.revision != revision { return false }
      case .useTicket(let id):
        if try await ticket(id) == nil { return false }
      case .createSession, .replaceSession, .endSession, .createAccount, .createTicket, .voidTickets, .noteClock,
        .moveTimes:
        continue
      }
    }
    return true
  }
}
