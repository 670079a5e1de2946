public import HandstampCore
import HandstampSupport

/// A browser that is signed in on the server's own pages, or a browser application, which gets a cookie instead of tokens.
///
/// It is one of the account's sessions: listed, limited and ended like those of devices.
public struct BrowserSession: Sendable, Hashable {
  public var account: AccountRecord
  public var row: SessionRow
  /// When the user proved to be the account's owner, as the browser's cookie shows: a previous one does not show a later proof.
  public var authenticatedAt: UnixTime
  /// How, as far as that cookie shows it: empty for a previous one.
  public var methods: AuthenticationMethods
  /// The cookie that the browser has presented, or gets. It is not stored.
  public var cookie: Secret
  /// The number of that cookie.
  var number: UInt64
  /// The sessions that the first use of this one ended.
  public var displaced: [SessionRow] = []

  init(account: AccountRecord, row: SessionRow, authenticatedAt: UnixTime, cookie: Secret, number: UInt64) {
    (self.account, self.row, self.authenticatedAt) = (account, row, authenticatedAt)
    (self.cookie, self.number) = (cookie, number)
    methods = row.methods(shownBy: number)
  }

  /// Whether a recovery code began it in place of a second factor, so that its user may only set up a new one.
  package var isRecovering: Bool { row.methods.isRecovering }

  /// The changes that let a write fail if the session has ended in the meantime, or the account has changed.
  var expectations: [RegistryChange] {
    [.expectSession(row.id), .expectAccount(account.id, revision: account.revision)]
  }
}

extension Registry {
  /// Begins a session for the user of a browser who has signed in.
  ///
  /// An earlier session of the same browser and account ends as `replaced` when the browser presents the new cookie. Sessions of
  /// clients that the user has signed in to with this browser go on.
  ///
  /// - Parameters:
  ///   - use: the credential that was checked, and the account.
  ///   - persistence: whether the browser is borrowed. A session that it leaves then ends as signed out, whoever's it is.
  ///   - previous: the session of another account in this browser, which ends then as signed out.
  /// - Throws: ``RegistryError/accountChanged`` if the account has changed since the check;
  ///   ``RegistryError/oneTimeTokenInvalid`` if `use` was used at the same time, or removed.
  public func beginBrowserSession(
    by use: CredentialUse, on browser: DeviceInfo, _ persistence: SessionPersistence = .persistent,
    leaving previous: SessionID? = nil, now: UnixTime
  ) async throws(RegistryError) -> BrowserSession {
    let start = SessionStart(device: browser, kind: .browser, persistence, leaving: previous)
    let new = try await createSession(by: use, start, now: now)
    return browserSession(of: new.row, new.account)
  }

  /// Returns a session with its newest cookie.
  package func browserSession(of row: SessionRow, _ account: AccountRecord) -> BrowserSession {
    BrowserSession(
      account: account, row: row, authenticatedAt: row.authenticatedAt,
      cookie: mint.browserCookie(for: row.session, counter: row.counter), number: row.counter)
  }

  /// Returns the live session that a cookie belongs to; `nil` if there is none, or the use of a newer cookie has replaced this one.
  ///
  /// A new cookie is used from here on: what it replaces ends. If that cannot be stored, a later request does it.
  ///
  /// A cookie made with a key that this server does not have counts as none: unlike an app, a browser cannot try again later, and
  /// may have the cookie of another server that had this address before.
  ///
  /// Nor is there one for a session that a recovery code began, whose pages only replace what was lost.
  public func browserSession(_ presented: Secret, now: UnixTime) async throws(RegistryError) -> BrowserSession? {
    try await anyBrowserSession(presented, now: now).flatMap { $0.isRecovering ? nil : $0 }
  }

  /// The same, also for a session whose user may only set up a new factor: the caller tells them apart by
  /// ``BrowserSession/isRecovering``.
  package func anyBrowserSession(_ presented: Secret, now: UnixTime) async throws(RegistryError) -> BrowserSession? {
    guard case .genuine(let claims) = mint.read(browserCookie: presented),
      let row = try await storedSession(claims.session.id), row.endReason(at: now) == nil, row.kind == .browser,
      let proven = row.provenAt(cookie: claims.counter), let account = try await account(row.account),
      account.closedAt == nil
    else { return nil }
    var user = BrowserSession(
      account: account, row: row, authenticatedAt: proven, cookie: presented, number: claims.counter)
    do throws(RegistryError) {
      user.displaced = try await recordFirstUse(of: row, now: now)
      if row.pending != nil { user.row = try await storedSession(row.id) ?? row }
      if row.used(cookie: claims.counter, at: now) != nil {
        user.row = try await change(row.id, of: row.account, now: now) { row in
          row = row.used(cookie: claims.counter, at: now) ?? row
        }
      }
    } catch {
      // Such as a session that has just ended: the caller's own reads and writes find out.
    }
    return user
  }

  /// Records that the user of a browser has proved again to be the account's owner.
  ///
  /// - Parameter use: the credential that it was proved with.
  /// - Returns: the session with its new cookie. The previous one, which does not show the proof, counts until the browser has presented
  ///   the new one (OWASP ASVS 7.2.4): the response may be lost.
  /// - Throws: ``RegistryError/notFound`` if the session has ended; ``RegistryError/oneTimeTokenInvalid`` if `use` no longer counts;
  ///   ``RegistryError/upstreamEnded`` if the provider of `use` has announced an end of what it depends on.
  public func reauthenticate(
    _ session: BrowserSession, by use: CredentialUse, now: UnixTime
  ) async throws(RegistryError) -> BrowserSession {
    let audit = audited(
      .reauthenticated, account: session.account.id, session: session.row.id,
      details: JSONText([("way", use.way.rawValue)]).text, at: now)
    let upstream = try await renewal(of: session.row, by: use.upstream, now: now)
    let row = try await change(
      session.row.id, of: session.account.id, with: use.changes + [audit] + upstream, now: now
    ) { row in
      row = row.proven(with: session.number, by: use.methods, at: now)
      // A provider may have asked the user for nothing now.
      if let time = use.authenticatedAt { row.authenticatedAt = min(time, now) }
      if let end = use.latestExpiry { row.absoluteExpiry = min(row.absoluteExpiry ?? end, end) }
    }
    return browserSession(of: row, session.account)
  }

  /// The changes for another sign-in at a provider: it must not have ended there, and a session that began by the same user depends on
  /// the provider's session of now.
  private func renewal(
    of row: SessionRow, by upstream: UpstreamSession?, now: UnixTime
  ) async throws(RegistryError) -> [RegistryChange] {
    guard let upstream else { return [] }
    let (expected, keys) = (try await expectations(of: upstream, now: now), upstream.keys)
    guard try await upstreamUser(of: row.id) == keys.user else { return expected }
    // An item keeps its subject for good, which is the provider's session.
    let previous =
      try await item(UpstreamDependency.sessionID(of: row.id)).map { [RegistryChange.removeItem($0)] } ?? []
    return expected + previous + UpstreamDependency.changes(for: row, on: keys.user, keys.session)
  }

  /// Returns the live sessions of clients that end with these if their owner ends them.
  package func clients(endingWith rows: [SessionRow], now: UnixTime) async throws(RegistryError) -> [SessionRow] {
    try await read(try await dependents(of: rows, endingAs: .revoked, now: now))
      .filter { $0.endReason(at: now) == nil && !$0.isForgotten(at: now) }
  }

  /// Returns the sessions of clients that depend on the sign-in of browsers among `rows` and end with them for that reason, without
  /// those among `rows`.
  ///
  /// A form that was sent twice began two sessions of one browser, and only one is ever used. Where clients outlast a browser that
  /// signs in again or is merely unused, they outlast the other one, too.
  func dependents(
    of rows: [SessionRow], endingAs reason: EndReason, now: UnixTime
  ) async throws(RegistryStoreError) -> [SessionRow] {
    var found: [SessionRow] = []
    var known = Set(rows.map(\.id))
    for browser in rows where browser.takesClients(with: reason) {
      let others = try await store.sessions(of: browser.account).filter { !known.contains($0.id) }
      let goesOn = others.contains {
        $0.kind == .browser && $0.device.id == browser.device.id && $0.endReason(at: now) == nil
      }
      guard reason.reachesClients || !goesOn else { continue }
      let clients = others.filter { $0.client?.browser == browser.device.id }
      known.formUnion(clients.map(\.id))
      found += clients
    }
    return found
  }
}
