public import HandstampCore

extension EndReason {
  /// Whether the clients that a user signed in to with a browser end with the browser's session: not if it was merely unused, for
  /// they may be in use, and not if the same browser signed in again.
  var reachesClients: Bool {
    switch self {
    case .expired, .idle, .replaced: false
    case .signedOut, .revoked, .tokenReuseDetected, .accountClosed, .endedAtProvider, .repeatRefused, .rejected,
      .erased:
      true
    }
  }
}

extension RegistryChange {
  fileprivate var replacesAccount: Bool { if case .replaceAccount = self { true } else { false } }
}

extension Registry {
  /// Ends the session that a refresh token or a revocation handle names (RFC 7009).
  ///
  /// Any genuine token of the session is accepted, whatever its counter. Invalid tokens and unknown sessions change nothing and
  /// are not an error.
  ///
  /// - Returns: the session if this call ended it.
  /// - Throws: ``RegistryError/unknownKey(_:)`` if this server does not have the token's key; the client should retry later.
  public func revoke(
    _ presented: Secret, reason: EndReason = .signedOut, now: UnixTime
  ) async throws(RegistryError) -> [SessionRow] {
    let session: SessionBytes
    switch (mint.read(RefreshToken(presented)), mint.read(RevocationHandle(presented))) {
    case (.genuine(let claims), _): session = claims.session
    case (_, .genuine(let named)): session = named
    case (.unknownKey(let id), _), (_, .unknownKey(let id)): throw .unknownKey(id)
    case (.forged, .forged): return []
    }
    return try await end(reason, now: now, rows: [try await store.session(session.id)].compactMap(\.self))
  }

  /// Ends one session of an account.
  ///
  /// - Parameter isAudited: whether the audit log gets it, because it is not the owner who ends it.
  /// - Returns: the sessions that this call ended; none if it had ended already, which is not an error.
  /// - Throws: ``RegistryError/notFound`` if the account has no session with that ID, whether or not another account has one.
  public func end(
    _ id: SessionID, of account: AccountID, reason: EndReason = .revoked, isAudited: Bool = false, now: UnixTime
  ) async throws(RegistryError) -> [SessionRow] {
    try await end([id], of: account, reason: reason, isAudited: isAudited, now: now)
  }

  /// The same for several sessions, in one write and with one notice. One that the account does not have is left alone.
  ///
  /// - Throws: ``RegistryError/notFound`` if the account has none of them.
  package func end(
    _ ids: [SessionID], of account: AccountID, reason: EndReason = .revoked, isAudited: Bool = false, now: UnixTime
  ) async throws(RegistryError) -> [SessionRow] {
    var named: [SessionRow] = []
    for id in ids { if let row = try await storedSession(id), row.account == account { named.append(row) } }
    guard let first = named.first else { throw .notFound }
    let audit = isAudited ? named.map { audited(.sessionEnded, account: account, session: $0.id, at: now) } : []
    // A device that was thrown out must not be one that the account knows.
    let forgotten = reason == .revoked ? named.map { forgetting($0.device.id, of: account, now: now) } : []
    let told =
      reason == .revoked && !isAudited ? notice(.sessionsEnded, of: account, NoticedName(of: first), now: now) : []
    func present() async throws(RegistryStoreError) -> [SessionRow] {
      var rows: [SessionRow] = []
      for id in named.map(\.id) {
        guard let row = try await store.session(id) else { continue }
        let all = [row] + (row.kind == .browser ? try await twins(of: row) : [])
        rows += all.filter { row in !rows.contains { $0.id == row.id } }
      }
      return rows
    }
    return try await end(reason, now: now, finally: audit + forgotten + told, rows: try await present())
  }

  /// The sessions that other pages of the browser began at the same time: only one of them has its cookie.
  private func twins(of row: SessionRow) async throws(RegistryStoreError) -> [SessionRow] {
    try await store.sessions(of: row.account).filter {
      let distance = $0.createdAt.since(row.createdAt)
      return $0.id != row.id && $0.kind == .browser && $0.device.id == row.device.id
        && (.zero - PendingSession.life...PendingSession.life).contains(distance)
    }
  }

  /// Ends all sessions of an account except `kept`, in one write, after what would begin others, see ``TakeBack/sessions``. If any
  /// ended, the audit log gets an entry that names `kept`.
  ///
  /// - Returns: the sessions that this call ended.
  public func endAll(
    of account: AccountID, except kept: SessionID? = nil, reason: EndReason = .revoked, now: UnixTime
  ) async throws(RegistryError) -> [SessionRow] {
    // Before, so that no code is redeemed between the look at the sessions and their end.
    try await write(voiding(.sessions, of: account, now: now))
    let audit = audited(.sessionsEnded, account: account, session: kept, at: now)
    func others() async throws(RegistryStoreError) -> [SessionRow] {
      try await store.sessions(of: account).filter { $0.id != kept }
    }
    let told = actor.isOwner ? notice(.sessionsEnded, of: account, .none, now: now) : []
    let first = try await end(reason, now: now, keeping: kept, finally: [audit] + told, rows: try await others())
    // Those that began between the look and the write, by a code of a session that had not ended then. From now on none can.
    guard !first.isEmpty else { return first }
    return first + (try await end(reason, now: now, keeping: kept, rows: try await others()))
  }

  /// Ends the sessions of one client of an account, whose consent and waiting codes go first. The audit log gets an entry if any ended.
  public func endAll(
    of account: AccountID, ofClient client: String, now: UnixTime
  ) async throws(RegistryError) -> [SessionRow] {
    let isUsed = try await liveSessions(of: account).contains { $0.client?.id == client }
    let isAllowed = try await consent(of: account, to: client, now: now) != nil
    guard isUsed || isAllowed else { return [] }
    return try await withdrawConsent(of: account, to: client, now: now)
  }

  /// Marks at most `limit` expired sessions as ended. Call it periodically.
  ///
  /// Expired sessions are refused even before this call marks them.
  public func expire(now: UnixTime, limit: Int = 500) async throws(RegistryError) -> [SessionRow] {
    // A session that a refresh has just extended is no longer expired and stays.
    try await end(
      .expired, now: now, onlyUnchanged: true,
      rows: try await store.expired(at: now, limit: limit).filter { $0.endReason(at: now) != nil })
  }

  /// Updates when a session was last seen, at most once per touch interval. Returns whether anything was written.
  @discardableResult
  public func touch(_ row: SessionRow, now: UnixTime) async throws(RegistryError) -> Bool {
    guard row.endReason(at: now) == nil else { return false }
    guard now.since(row.lastSeenAt) >= limits.touchInterval(idleLimit: row.idleLimit) else { return false }
    var seen = row
    seen.lastSeenAt = now
    seen.revision += 1
    // A concurrent writer has seen the session too.
    return try await write([.replaceSession(seen, expecting: row.revision)], [])
  }

  /// Renames the device of a session.
  ///
  /// - Throws: ``RegistryError/notFound`` if the account has no live session with that ID.
  public func rename(
    _ id: SessionID, of account: AccountID, to name: String, now: UnixTime
  ) async throws(RegistryError) -> SessionRow {
    try await change(id, of: account, now: now) { row in
      row.device = DeviceInfo(id: row.device.id, name: name, platform: row.device.platform)
    }
  }

  /// Marks a nonce of another identity provider as used, so that its token proves only one sign-in.
  ///
  /// - Throws: ``RegistryError/nonceUsed``.
  public func use(_ nonce: OneTimeTokenRecord) async throws(RegistryError) {
    guard try await write([.createOneTimeToken(nonce)], []) else { throw .nonceUsed }
  }

  /// Sets the push token of a session's device; `nil` removes it. It is deleted when the session ends.
  ///
  /// - Throws: ``RegistryError/notFound`` if the account has no live session with that ID.
  @discardableResult
  public func setPushToken(
    _ token: Secret?, for id: SessionID, of account: AccountID, now: UnixTime
  ) async throws(RegistryError) -> SessionRow {
    try await change(id, of: account, now: now) { $0.pushToken = token }
  }

  func change(
    _ id: SessionID, of account: AccountID, with more: [RegistryChange] = [], now: UnixTime,
    _ change: (inout SessionRow) -> Void
  ) async throws(RegistryError) -> SessionRow {
    for _ in 0..<Registry.attempts {
      guard let row = try await session(id, now: now), row.account == account else { throw .notFound }
      var next = row
      change(&next)
      guard next != row else { return row }
      next.revision += 1
      if try await write(more + [.replaceSession(next, expecting: row.revision)], []) { return next }
      guard try await stillHold(more) else { throw .oneTimeTokenInvalid }
    }
    throw Registry.contention
  }

  /// Ends the sessions from `rows` that have not ended yet, in one write. One that had already expired gets that reason.
  ///
  /// With the session of a browser end those of the clients that the user signed in to with it.
  ///
  /// - Parameters:
  ///   - provider: the name of the provider where they end, if they do.
  ///   - kept: a session that does not end with its browser.
  ///   - onlyUnchanged: whether a concurrent write to a session makes the call read the rows and decide again. If
  ///   `false`, a client cannot keep a session alive by refreshing it constantly.
  ///   - rows: read anew for each attempt.
  func end(
    _ reason: EndReason, at provider: String? = nil, now: UnixTime, keeping kept: SessionID? = nil,
    with more: [RegistryChange] = [],
    finally last: [RegistryChange] = [],
    events moreEvents: [RegistryEvent] = [], onlyUnchanged: Bool = false,
    rows: @autoclosure () async throws(RegistryStoreError) -> [SessionRow]
  ) async throws(RegistryError) -> [SessionRow] {
    for _ in 0..<Registry.attempts {
      var found = try await read(try await rows()).filter { $0.end == nil }
      found += try await read(try await dependents(of: found, endingAs: reason, now: now)).filter { $0.id != kept }
      guard !found.isEmpty || !more.isEmpty else { return [] }
      var (ended, changes): ([SessionRow], [RegistryChange]) = ([], [])
      for row in found {
        let end = SessionEnd(at: now, reason: row.endReason(at: now) ?? reason)
        let next = row.ended(end.reason, at: end.at)
        ended.append(next)
        changes += onlyUnchanged ? [.replaceSession(next, expecting: row.revision)] : [.endSession(row.id, end)]
        changes += LogoutJob.changes(for: row, now: end.at)
        if let provider { changes.append(naming(provider, for: row, now: now)) }
        if reason != .accountClosed {
          changes += try await read(try await remembering(row, isOut: reason == .revoked)).map { [$0] } ?? []
        }
        if reason == .revoked, let client = row.client {
          changes.append(remembering(client, of: row.account, for: .zero, now: now))
        }
      }
      do throws(RegistryStoreError) {
        let events = ended.map { RegistryEvent.revoked($0, at: now) }
        try await store.write(more + changes + last, events: moreEvents + events)
      } catch {
        switch error {
        case .conflict, .notFound:
          // Only the caller knows what a change of the account's record means.
          if !more.isEmpty, try await !stillHold(more) { throw .accountChanged }
        case .alreadyExists: throw .emailTaken
        case .unavailable: throw RegistryError(error)
        }
        continue
      }
      // Sessions that began between the look at the rows and the write, by what the account's record no longer allows, or with a
      // browser that is no longer signed in. From now on none can begin so.
      if more.contains(where: \.replacesAccount) {
        return ended
          + (try await end(reason, at: provider, now: now, keeping: kept, finally: last, rows: try await rows()))
      }
      let browsers = ended.filter { $0.takesClients(with: reason) }
      guard !browsers.isEmpty else { return ended }
      return ended
        + (try await end(
          reason, at: provider, now: now,
          rows: try await dependents(of: browsers, endingAs: reason, now: now).filter { $0.id != kept }))
    }
    throw Registry.contention
  }

  /// The changes that end a session, whatever its revision.
  func ending(_ row: SessionRow, _ end: SessionEnd) -> [RegistryChange] {
    [.endSession(row.id, end)] + LogoutJob.changes(for: row, now: end.at)
  }

  /// Returns whether what changes depend on is still as they expect.
  func stillHold(_ changes: [RegistryChange]) async throws(RegistryError) -> Bool {
    for change in changes {
      switch change {
      case .replaceAccount(let record, let expecting):
        if try await account(record.id)?.revision != expecting { return false }
      case .expectAccount(let id, let revision):
        if try await account(id)?.revision != revision { return false }
      case .redeemOneTimeToken(let id):
        if try await oneTimeToken(id) == nil { return false }
      case .replaceItem(let item, let expecting):
        if try await self.item(item.id)?.revision != expecting { return false }
      case .removeItem(let item):
        if try await self.item(item.id)?.revision != item.revision { return false }
      case .expectSession(let id):
        if try await storedSession(id)?.end != nil { return false }
      case .createOneTimeToken(let record):
        if try await oneTimeToken(record.id) != nil { return false }
      case .createItem(let item):
        if try await self.item(item.id) != nil { return false }
      case .createAccount(let record):
        if let email = record.email, try await account(email: email) != nil { return false }
        if let identity = record.identity, try await account(identity: identity) != nil { return false }
      case .createSession, .replaceSession, .endSession, .voidOneTimeTokens, .putItem, .removeItems, .eraseDevices,
        .audit, .noteClock, .moveTimes:
        continue
      }
    }
    return true
  }
}
