public import HandstampCore

/// The first use of a session: by a refresh, by a request with its access token or its cookie, or by the word of its client.
///
/// A sign-in ends nothing, for its response may be lost. What it replaces ends with the first use of the new session, which only a
/// client that got the response can make.
extension Registry {
  /// Records that a session is used, and ends as `replaced` those whose place it takes, in one write: the device's former ones, and
  /// the least recently seen ones that exceed ``RegistryLimits/maxSessions``.
  ///
  /// A session that is no longer pending, has ended, or is older than one that the device uses already, changes nothing: a request
  /// that arrives late ends no newer session.
  ///
  /// - Returns: the sessions that it ended.
  @discardableResult
  public func settle(_ row: SessionRow, now: UnixTime) async throws(RegistryError) -> EndOutcome {
    guard row.pending != nil else { return .nothing }
    for _ in 0..<Registry.attempts {
      guard let row = try await storedSession(row.id), let pending = row.pending, row.over(at: now) == nil else {
        return .nothing
      }
      let live = try await liveSessions(of: row.account)
      guard let former = displaced(by: row, live, now: now) else { return .nothing }
      var next = row
      next.pending = nil
      next.lastSeenAt = max(row.lastSeenAt, now)
      next.revision += 1
      var (ended, changes): ([SessionRow], [RegistryChange]) = ([], [])
      for old in former {
        // A session that had already expired keeps that reason.
        let reason = old.over(at: now) ?? .replaced
        ended.append(old.ended(reason, at: now))
        changes += ending(old, SessionEnd(at: now, reason: reason))
        if old.device.id != row.device.id, let device = remembering(old) { changes.append(device) }
      }
      for old in try await signedOut(by: pending) where !former.contains(where: { $0.id == old.id }) {
        let reason = old.over(at: now) ?? .signedOut
        ended.append(old.ended(reason, at: now))
        changes += ending(old, SessionEnd(at: now, reason: reason))
      }
      changes.append(.replaceSession(next, expecting: row.revision))
      if let device = remembering(next) { changes.append(device) }
      do throws(RegistryStoreError) {
        let events = try await store.write(changes, events: ended.map { .revoked($0, at: now) })
        return EndOutcome(ended: ended, events: events)
      } catch {
        // One of them has ended or was used in the meantime: decide again.
        if case .unavailable = error { throw RegistryError(error) }
      }
    }
    throw Registry.contention
  }

  /// The sessions whose place a pending one takes with its first use; `nil` if it takes none, because the device uses another one that
  /// must go on.
  private func displaced(by row: SessionRow, _ live: [SessionRow], now: UnixTime) -> [SessionRow]? {
    let (same, others) = (
      live.filter { $0.device.id == row.device.id && $0.id != row.id }, live.filter { $0.device.id != row.device.id }
    )
    let former = same.filter { $0.isDisplaced(by: row) }
    guard !same.contains(where: { old in old.pending == nil && !former.contains { $0.id == old.id } }) else { return nil }
    guard let most = limits.maxSessions else { return former }
    let used = others.filter { $0.pending == nil && $0.over(at: now) == nil }
    let surplus = used.count - (most - 1)
    guard surplus > 0 else { return former }
    return former + used.sorted { ($0.lastSeenAt, $0.id.rawValue) < ($1.lastSeenAt, $1.id.rawValue) }.prefix(surplus)
  }

  /// The session of another account that the browser leaves, with those of clients that depend on it.
  private func signedOut(by pending: PendingSession) async throws(RegistryError) -> [SessionRow] {
    guard let id = pending.replaces, let left = try await storedSession(id), left.end == nil else { return [] }
    return try await reading { () throws(RegistryStoreError) in
      [left] + (try await dependents(of: [left])).filter { $0.end == nil }
    }
  }

  /// The pending sessions that make room for one more of `device`: the oldest that exceed ``PendingSession/most``.
  func surplus(_ live: [SessionRow], for device: DeviceInfo, now: UnixTime) -> [SessionRow] {
    func oldest(_ rows: [SessionRow], beyond most: Int) -> [SessionRow] {
      Array(rows.sorted { $0.isOlder(than: $1) }.prefix(max(0, rows.count - (most - 1))))
    }
    let pending = live.filter { $0.pending != nil }
    let own = oldest(pending.filter { $0.device.id == device.id }, beyond: PendingSession.most)
    guard let most = limits.maxSessions else { return own }
    let rest = pending.filter { row in !own.contains { $0.id == row.id } }
    return own + oldest(rest, beyond: max(most, PendingSession.most))
  }
}

extension SessionRow {
  /// Whether the session ends with the first use of another one of its device and account.
  ///
  /// In an app, whatever began before. In a browser, two pages may have signed in at once, and it has the cookie of the response that
  /// arrived last: what began within ``PendingSession/life`` before goes on.
  fileprivate func isDisplaced(by new: SessionRow) -> Bool {
    guard isOlder(than: new) else { return false }
    return new.kind != .browser || new.createdAt.since(createdAt) >= PendingSession.life
  }
}
