public import HandstampCore

/// The result of a sign-in. The refresh token and the handle go to the client and are not stored.
public struct NewSession: Sendable, Hashable {
  /// The account after the sign-in.
  public var account: AccountRecord
  public var row: SessionRow
  public var refreshToken: RefreshToken
  public var revocationHandle: RevocationHandle
  /// The events of the sessions that were replaced, followed by those of the new one.
  public var events: [StoredEvent]
}

/// Properties of a session that are fixed when it is created.
struct SessionOrigin: Sendable {
  var kind = SessionKind.keyed
  var client: SessionClient?
  /// The JWK thumbprint that its tokens are bound to.
  var thumbprint: String?
  /// The rotation key that an OAuth client sent with its sign-in.
  var key: KeyMark?
  /// Its ID, if the caller has to know it in advance.
  var session: SessionBytes?
  /// When the user proved to be the account's owner; `nil` if that was just now.
  var authenticatedAt: UnixTime?
  /// When it ends at the latest, besides the limits.
  var latestExpiry: UnixTime?
  /// Whether it is on another device than the browser in which the user has allowed it.
  var isElsewhere = false
}

extension Registry {
  /// Creates a session for an account whose password or other credential was checked against exactly this record.
  ///
  /// An earlier session of the same device and account ends in the same write as `replaced`, so that a lost response leaves
  /// no orphaned session.
  ///
  /// - Parameter thumbprint: the JWK thumbprint that the session's tokens are bound to (RFC 9449); `nil` binds them to no key.
  /// - Throws: ``RegistryError/accountChanged`` if the account has changed since the check: a new password stops a sign-in
  ///   with the old one.
  public func createSession(
    for account: AccountRecord, device: DeviceInfo, kind: SessionKind = .keyed, thumbprint: String? = nil,
    now: UnixTime
  ) async throws(RegistryError) -> NewSession {
    try await createSession(
      for: account, device: device, origin: SessionOrigin(kind: kind, thumbprint: thumbprint), with: [], now: now)
  }

  /// Creates a session for a user who has signed in with a passkey or a recovery code.
  ///
  /// - Throws: ``RegistryError/oneTimeTokenInvalid`` if that was used at the same time, or removed.
  public func createSession(
    by use: CredentialUse, device: DeviceInfo, thumbprint: String? = nil, now: UnixTime
  ) async throws(RegistryError) -> NewSession {
    try await createSession(
      for: use.account, device: device, origin: SessionOrigin(thumbprint: thumbprint), with: use.changes, now: now)
  }

  /// Creates a session in one write, after `changes`.
  ///
  /// - Throws: ``RegistryError/oneTimeTokenInvalid`` if something that `changes` depend on is no longer as they expect, such as a
  ///   one-time token that was used.
  func createSession(
    for account: AccountRecord, device: DeviceInfo, origin: SessionOrigin, with changes: [RegistryChange],
    now: UnixTime
  ) async throws(RegistryError) -> NewSession {
    guard account.closedAt == nil else { throw .accountClosed }
    let notice =
      if let client = origin.client {
        try await noticing(client, device.name, of: account, isElsewhere: origin.isElsewhere, now: now)
      } else { try await noticing(device, of: account, now: now) }
    for _ in 0..<Registry.attempts {
      let former = leaving(try await liveSessions(of: account.id), for: device, now: now)
      do throws(RegistryStoreError) {
        return try await begin(
          account, device, origin, replacing: former, now: now,
          with: changes + [.expectAccount(account.id, revision: account.revision)] + notice)
      } catch {
        if case .unavailable = error { throw RegistryError(error) }
        guard try await stillHold(changes) else { throw .oneTimeTokenInvalid }
        // What already exists is a session that began at the same time.
        if error != .alreadyExists { try await confirm(account) }
      }
    }
    throw Registry.contention
  }

  /// Creates a session and ends others as `replaced`, in one write, after `changes`.
  ///
  /// - Parameter isRemembering: whether the devices of the others stay known.
  func begin(
    _ account: AccountRecord, _ device: DeviceInfo, _ origin: SessionOrigin = SessionOrigin(),
    replacing former: [SessionRow], isRemembering: Bool = true, now: UnixTime, with changes: [RegistryChange],
    events: [RegistryEvent] = []
  ) async throws(RegistryStoreError) -> NewSession {
    let row = newRow(account.id, device, origin, now)
    var (changes, events) = (changes, events)
    for old in former {
      // A session that had already expired keeps that reason.
      let reason = old.over(at: now) ?? .replaced
      changes += ending(old, SessionEnd(at: now, reason: reason))
      if isRemembering, let device = remembering(old) { changes.append(device) }
      events.append(.revoked(old.ended(reason, at: now), at: now))
    }
    changes.append(.createSession(row))
    if let device = remembering(row) { changes.append(device) }
    events.append(RegistryEvent(kind: .sessionEstablished, account: account.id, session: row.id, at: now))
    let stored = try await store.write(changes, events: events)
    return NewSession(
      account: account, row: row,
      refreshToken: mint.refreshToken(RefreshClaims(session: row.session, counter: 0, mark: .zero)),
      revocationHandle: mint.revocationHandle(for: row.session), events: stored)
  }

  /// The sessions that make room for a new one of `device`: the device's earlier ones, and the least recently seen ones that
  /// exceed ``RegistryLimits/maxSessions``.
  func leaving(_ live: [SessionRow], for device: DeviceInfo, now: UnixTime) -> [SessionRow] {
    let former = live.filter { $0.device.id == device.id }
    guard let most = limits.maxSessions else { return former }
    let others = live.filter { $0.device.id != device.id && $0.over(at: now) == nil }
    let surplus = others.count - (most - 1)
    guard surplus > 0 else { return former }
    return former + others.sorted { ($0.lastSeenAt, $0.id.rawValue) < ($1.lastSeenAt, $1.id.rawValue) }.prefix(surplus)
  }

  /// The account's sessions that were not ended.
  func liveSessions(of account: AccountID) async throws(RegistryError) -> [SessionRow] {
    try await reading { () throws(RegistryStoreError) in try await store.sessions(of: account) }
  }

  /// Throws if the stored account is no longer this record, to tell a change of the account from one of a session.
  func confirm(_ account: AccountRecord) async throws(RegistryError) {
    guard let stored = try await self.account(account.id) else { throw .notFound }
    guard stored.closedAt == nil else { throw .accountClosed }
    guard stored.revision == account.revision else { throw .accountChanged }
  }

  private func newRow(
    _ account: AccountID, _ device: DeviceInfo, _ origin: SessionOrigin, _ now: UnixTime
  ) -> SessionRow {
    var source = source
    let isBrowser = origin.kind == .browser
    let absolute = (isBrowser ? limits.browserAbsoluteLimit : limits.absoluteLimit).map { now.advanced(by: $0) }
    return SessionRow(
      session: origin.session ?? SessionBytes(from: &source), account: account, device: device, kind: origin.kind,
      client: origin.client, ring: KeyRing(origin.key.map { [.keyed($0)] } ?? []), createdAt: now,
      authenticatedAt: origin.authenticatedAt,
      absoluteExpiry: [absolute, origin.latestExpiry].compactMap(\.self).min(),
      idleLimit: isBrowser ? limits.browserIdleLimit : limits.idleLimit,
      dpopThumbprint: origin.thumbprint)
  }
}

extension RegistryEvent {
  static func revoked(_ row: SessionRow, at now: UnixTime) -> RegistryEvent {
    RegistryEvent(kind: .sessionRevoked, account: row.account, session: row.id, reason: row.end?.reason, at: now)
  }
}
