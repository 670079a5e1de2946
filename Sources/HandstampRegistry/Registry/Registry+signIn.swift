public import HandstampCore

/// What a sign-in brings. The refresh token and the handle are told to the client and kept nowhere.
public struct NewSession: Sendable, Hashable {
  /// As it is after the sign-in.
  public var account: AccountRecord
  public var row: SessionRow
  public var refreshToken: RefreshToken
  public var revocationHandle: RevocationHandle
  /// The new session's, after those of the sessions that it replaced.
  public var events: [StoredEvent]
}

extension Registry {
  /// Signs someone in whose password, or whatever else, was checked against exactly this record of the account.
  ///
  /// A former session of the same device and account ends in the same write, as `replaced`: a lost answer leaves no ghost.
  /// Fails with ``RegistryError/accountChanged`` when the account is no longer what was checked (a new password ends what
  /// the old one was about to begin).
  public func createSession(
    for account: AccountRecord, device: DeviceInfo, kind: SessionKind = .keyed, now: UnixTime
  ) async throws(RegistryError) -> NewSession {
    guard account.closedAt == nil else { throw .accountClosed }
    for _ in 0..<Registry.attempts {
      let former = try await liveSessions(of: account.id).filter { $0.device.id == device.id }
      do throws(RegistryStoreError) {
        return try await begin(
          account, device, kind, replacing: former, now: now,
          with: [.expectAccount(account.id, revision: account.revision)])
      } catch {
        switch error {
        case .exists: continue
        case .changed, .missing: try await confirm(account)
        case .unavailable: throw RegistryError(error)
        }
      }
    }
    throw Registry.contention
  }

  /// A new session of an account, and the end of others as `replaced`, in one write with `changes` before it.
  func begin(
    _ account: AccountRecord, _ device: DeviceInfo, _ kind: SessionKind, replacing former: [SessionRow],
    now: UnixTime, with changes: [RegistryChange], events: [RegistryEvent] = []
  ) async throws(RegistryStoreError) -> NewSession {
    let row = newRow(account.id, device, kind, now)
    var (changes, events) = (changes, events)
    for old in former {
      // What had expired unnoticed says so.
      let ended = old.ended(old.over(at: now) ?? .replaced, at: now)
      changes.append(.replaceSession(ended, expecting: old.revision))
      events.append(.revoked(ended, at: now))
    }
    changes.append(.createSession(row))
    events.append(RegistryEvent(kind: .sessionEstablished, account: account.id, session: row.id, at: now))
    let stored = try await store.write(changes, events: events)
    return NewSession(
      account: account, row: row,
      refreshToken: mint.refreshToken(RefreshClaims(session: row.session, counter: 0, mark: .zero)),
      revocationHandle: mint.revocationHandle(for: row.session), events: stored)
  }

  /// Those that were not ended.
  func liveSessions(of account: AccountID) async throws(RegistryError) -> [SessionRow] {
    try await reading { () throws(RegistryStoreError) in try await store.sessions(of: account) }
  }

  /// Tells a change of the account from one of a session: throws when the stored account is no longer this one.
  func confirm(_ account: AccountRecord) async throws(RegistryError) {
    guard let stored = try await self.account(account.id) else { throw .missing }
    guard stored.closedAt == nil else { throw .accountClosed }
    guard stored.revision == account.revision else { throw .accountChanged }
  }

  private func newRow(_ account: AccountID, _ device: DeviceInfo, _ kind: SessionKind, _ now: UnixTime) -> SessionRow {
    var source = source
    return SessionRow(
      session: SessionBytes(from: &source), account: account, device: device, kind: kind, createdAt: now,
      absoluteExpiry: limits.absoluteLimit.map { now.advanced(by: $0) }, idleLimit: limits.idleLimit)
  }
}

extension RegistryEvent {
  static func revoked(_ row: SessionRow, at now: UnixTime) -> RegistryEvent {
    RegistryEvent(kind: .sessionRevoked, account: row.account, session: row.id, reason: row.end?.reason, at: now)
  }
}
