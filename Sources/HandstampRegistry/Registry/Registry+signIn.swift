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

/// What a session is from its first day on.
struct SessionOrigin: Sendable {
  var kind = SessionKind.keyed
  var client: SessionClient?
  /// What its tokens are bound to.
  var thumbprint: String?
  /// Its id, where that must be known before.
  var session: SessionBytes?
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
    try await createSession(for: account, device: device, origin: SessionOrigin(kind: kind), with: [], now: now)
  }

  /// The same, in one write with `changes` before it. Throws ``RegistryError/linkInvalid`` when a ticket among them is gone.
  func createSession(
    for account: AccountRecord, device: DeviceInfo, origin: SessionOrigin, with changes: [RegistryChange],
    now: UnixTime
  ) async throws(RegistryError) -> NewSession {
    guard account.closedAt == nil else { throw .accountClosed }
    for _ in 0..<Registry.attempts {
      let former = leaving(try await liveSessions(of: account.id), for: device, now: now)
      do throws(RegistryStoreError) {
        return try await begin(
          account, device, origin, replacing: former, now: now,
          with: changes + [.expectAccount(account.id, revision: account.revision)])
      } catch {
        switch error {
        case .exists: continue
        case .changed, .missing:
          for case .useTicket(let id) in changes {
            if try await ticket(id) == nil { throw .linkInvalid }
          }
          try await confirm(account)
        case .unavailable: throw RegistryError(error)
        }
      }
    }
    throw Registry.contention
  }

  /// A new session of an account, and the end of others as `replaced`, in one write with `changes` before it.
  func begin(
    _ account: AccountRecord, _ device: DeviceInfo, _ origin: SessionOrigin = SessionOrigin(),
    replacing former: [SessionRow],
    now: UnixTime, with changes: [RegistryChange], events: [RegistryEvent] = []
  ) async throws(RegistryStoreError) -> NewSession {
    let row = newRow(account.id, device, origin, now)
    var (changes, events) = (changes, events)
    for old in former {
      // What had expired unnoticed says so.
      let reason = old.over(at: now) ?? .replaced
      changes.append(.endSession(old.id, SessionEnd(at: now, reason: reason)))
      events.append(.revoked(old.ended(reason, at: now), at: now))
    }
    changes.append(.createSession(row))
    events.append(RegistryEvent(kind: .sessionEstablished, account: account.id, session: row.id, at: now))
    let stored = try await store.write(changes, events: events)
    return NewSession(
      account: account, row: row,
      refreshToken: mint.refreshToken(RefreshClaims(session: row.session, counter: 0, mark: .zero)),
      revocationHandle: mint.revocationHandle(for: row.session), events: stored)
  }

  /// Which of an account's sessions make room for a new one of `device`: its own former ones, and those seen longest ago that
  /// would be more than ``RegistryLimits/maxSessions``.
  private func leaving(_ live: [SessionRow], for device: DeviceInfo, now: UnixTime) -> [SessionRow] {
    let former = live.filter { $0.device.id == device.id }
    guard let most = limits.maxSessions else { return former }
    let others = live.filter { $0.device.id != device.id && $0.over(at: now) == nil }
    let surplus = others.count - (most - 1)
    guard surplus > 0 else { return former }
    return former + others.sorted { ($0.lastSeenAt, $0.id.rawValue) < ($1.lastSeenAt, $1.id.rawValue) }.prefix(surplus)
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

  private func newRow(
    _ account: AccountID, _ device: DeviceInfo, _ origin: SessionOrigin, _ now: UnixTime
  ) -> SessionRow {
    var source = source
    return SessionRow(
      session: origin.session ?? SessionBytes(from: &source), account: account, device: device, kind: origin.kind,
      client: origin.client, createdAt: now, absoluteExpiry: limits.absoluteLimit.map { now.advanced(by: $0) },
      idleLimit: limits.idleLimit, dpopThumbprint: origin.thumbprint)
  }
}

extension RegistryEvent {
  static func revoked(_ row: SessionRow, at now: UnixTime) -> RegistryEvent {
    RegistryEvent(kind: .sessionRevoked, account: row.account, session: row.id, reason: row.end?.reason, at: now)
  }
}
