public import HandstampCore

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
      let previous = live.filter { !row.isBorrowed && pending.replaces.contains($0.id) }
      let left = try await left(by: pending, of: row, now: now)
      let replaced = try await withClients(
        previous + excess(others, now: now), endingAs: .replaced, now: now
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
