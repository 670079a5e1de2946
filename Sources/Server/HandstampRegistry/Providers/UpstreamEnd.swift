public import HandstampCore
import HandstampSupport

/// An end that another identity provider has announced: of one of its sessions, or of all that a user has there.
public struct UpstreamEnd: Sendable, Hashable {
  /// The change at the provider.
  public enum Change: String, Sendable, Hashable, CaseIterable {
    /// Sessions ended, and end here.
    case ended
    /// The user's account cannot be used until it is ``enabled``, nor can it here. Its sessions end.
    case disabled
    case enabled
    /// The user's account was deleted. It cannot be used here any more, and its sessions end; the account here stays.
    case purged
    /// A password, passkey or other credential of the user changed. Nothing ends, for most such changes are the user's own; but a
    /// sign-in here has to be newer.
    case credential
  }

  /// The provider's issuer.
  public var issuer: String
  /// The user; `nil` if only the session is named.
  public var subject: String?
  /// The provider's ID of the session that ended; `nil` for all of the user's.
  public var sid: String?
  public var change: Change
  /// When it happened at the provider.
  public var at: UnixTime
  /// The ID of the announcement, unique for the issuer.
  public var event: String
  /// The provider's name, for the account's owner, on its pages and on the devices whose sessions end.
  public var provider: String

  public init(
    issuer: String, subject: String?, sid: String?, change: Change = .ended, at: UnixTime, event: String,
    provider: String
  ) {
    self.issuer = issuer
    self.subject = subject
    self.sid = sid
    self.change = change
    self.at = at
    self.event = event
    self.provider = provider
  }

  var user: UpstreamKey? { subject.map { UpstreamKey(user: ExternalIdentity(issuer: issuer, subject: $0)) } }
  var session: UpstreamKey? { sid.map { UpstreamKey(session: $0, at: issuer) } }
  fileprivate var endsSessions: Bool {
    switch change {
    case .ended, .disabled, .purged: true
    case .enabled, .credential: false
    }
  }
  fileprivate var eventID: StoredItemID { StoredItemID(.upstreamEvent, issuer, event) }
}

/// The effect of an ``UpstreamEnd``.
public enum UpstreamEndOutcome: Sendable, Hashable {
  /// It was applied, and ended these sessions: none if no session depended on it.
  case applied([SessionRow])
  /// It had been applied before.
  case repeated
}

extension Registry {
  /// How long an announcement is known. A repeat after that has to be refused for its age.
  public static let upstreamEventMemory = Duration.seconds(8 * 86_400)

  /// Ends the sessions that depend on what has ended at a provider, and stops sign-ins that began there before. Everything is stored when
  /// this returns; if it throws, the same announcement has to be made again, which is always safe.
  public func endSessions(upstream end: UpstreamEnd, now: UnixTime) async throws(RegistryError) -> UpstreamEndOutcome {
    if try await liveItem(end.eventID, now: now) != nil { return .repeated }
    // First, so that no sign-in that is under way goes unseen.
    try await mark(end, now: now)
    var ended: [SessionRow] = []
    if end.endsSessions {
      for (account, rows) in Dictionary(grouping: try await rows(of: end), by: \.account) {
        let details = JSONText([("name", end.provider)]).text
        let audits = rows.map {
          audited(.sessionEndedAtProvider, account: account, session: $0.id, details: details, at: now)
        }
        let ids = Set(rows.map(\.id))
        ended += try await self.end(
          .endedAtProvider(), at: end.provider, now: now, finally: audits,
          rows: try await store.sessions(of: account).filter { ids.contains($0.id) })
      }
    }
    if end.change == .purged, let subject = end.subject {
      try await unlink(purged: ExternalIdentity(issuer: end.issuer, subject: subject), now: now)
    }
    // Last, so that an announcement counts as applied only if all of it was.
    let applied = StoredItem(
      id: end.eventID, kind: .upstreamEvent, createdAt: now, expiresAt: now.advanced(by: Registry.upstreamEventMemory))
    try await updateItem(end.eventID, now: now) { $0 ?? applied }
    return .applied(ended)
  }

  /// The change that notes where a session ends, for as long as the session is kept after that, see ``Retention/covers(_:)``. Rows and
  /// events have the word alone.
  func naming(_ provider: String, for row: SessionRow, now: UnixTime) -> RegistryChange {
    let life = Retention(eventsBefore: now, endedBefore: now, now: now).unlimited
    return .putItem(
      StoredItem(
        id: StoredItemID(.upstreamEvent, row.id.rawValue), kind: .upstreamEvent, payload: provider, createdAt: now,
        expiresAt: max(now.advanced(by: limits.retention), row.expiry ?? now.advanced(by: life))))
  }

  /// The reason for the end of a session, with the name of the provider if it ended at one.
  func named(_ reason: EndReason, of session: SessionID) async throws(RegistryError) -> EndReason {
    guard case .endedAtProvider(nil) = reason else { return reason }
    return reason.at(try await item(StoredItemID(.upstreamEvent, session.rawValue))?.payload)
  }

  /// Returns the name of the provider where the session of a browser's cookie ended; `nil` if it did not end so.
  package func providerOfEnd(of presented: Secret) async throws(RegistryError) -> String? {
    guard case .genuine(let claims) = mint.read(browserCookie: presented),
      let end = try await storedSession(claims.session.id)?.end
    else { return nil }
    return try await named(end.reason, of: claims.session.id).provider
  }

  private func mark(_ end: UpstreamEnd, now: UnixTime) async throws(RegistryError) {
    func change(_ key: UpstreamKey, lasting life: Duration, _ change: (inout UpstreamMark) -> Void)
      async throws(RegistryError)
    {
      try await updateItem(key.markID, now: now) { stored in
        let previous = stored.map { PayloadCoding.value(UpstreamMark.self, $0.payload) } ?? UpstreamMark()
        // One that cannot be read stays: it stops every sign-in.
        guard var mark = previous else { return stored }
        let wasDisabled = mark.isDisabled
        change(&mark)
        let new = mark.item(for: key, lasting: life, now: now)
        guard var item = stored else { return new }
        item.payload = new.payload
        item.expiresAt = wasDisabled ? new.expiresAt : max(item.expiresAt, new.expiresAt)
        return item
      }
    }
    let later = { (mark: inout UpstreamMark) in
      (mark.endedAt, mark.heardAt) = (max(mark.endedAt ?? end.at, end.at), now)
    }
    if let session = end.session { return try await change(session, lasting: UpstreamMark.lives.session, later) }
    guard let user = end.user else { return }
    try await change(user, lasting: UpstreamMark.lives.user) { mark in
      if end.change != .enabled { later(&mark) }
      // The announcements may arrive in another order.
      guard mark.stateAt.map({ $0 <= end.at }) ?? true else { return }
      switch end.change {
      case .disabled, .purged: (mark.isDisabled, mark.stateAt) = (true, end.at)
      case .enabled: (mark.isDisabled, mark.stateAt) = (false, end.at)
      case .ended, .credential: break
      }
    }
  }

  /// The sessions here that depend on what has ended.
  private func rows(of end: UpstreamEnd) async throws(RegistryError) -> [SessionRow] {
    var found: [SessionRow] = []
    if let session = end.session { found = try await dependents(on: session).compactMap(\.row) }
    if let user = end.user {
      let all = try await dependents(on: user)
      // Those that began by an ID token without a session could be this one. Those of clients that stay do not end with it (OpenID
      // Connect Back-Channel Logout 1.0 section 2.7).
      let ofUser = all.filter { end.session == nil || $0.dependency.key == nil && $0.row?.client == nil }
      // A session of another user is not this one's, whatever its name.
      if end.session != nil { found = found.filter { row in all.contains { $0.row?.id == row.id } } }
      found += ofUser.compactMap(\.row)
    }
    return found.filter { $0.end == nil }
  }

  /// The notes of sessions that depend on a user or a session at a provider, with the sessions; `nil` for one that was deleted.
  func dependents(
    on key: UpstreamKey
  ) async throws(RegistryError) -> [(item: StoredItem, dependency: UpstreamDependency, row: SessionRow?)] {
    var found: [(item: StoredItem, dependency: UpstreamDependency, row: SessionRow?)] = []
    for item in try await items(.upstreamSession, of: key.text) {
      guard let dependency = PayloadCoding.value(UpstreamDependency.self, item.payload) else { continue }
      found.append((item, dependency, try await storedSession(dependency.session)))
    }
    return found
  }

  /// The changes that forget which sessions of an account depended on sessions at a provider: they never fail, and the items are deleted
  /// with the next expired ones.
  func forgettingUpstream(of id: AccountID, now: UnixTime) async throws(RegistryError) -> [RegistryChange] {
    var notes: [StoredItem] = []
    for row in try await liveSessions(of: id) + read(try await store.endedSessions(of: id)) {
      for id in [UpstreamDependency.userID(of: row.id), UpstreamDependency.sessionID(of: row.id)] {
        if let note = try await item(id) { notes.append(note) }
      }
    }
    // Those of sessions that were deleted.
    guard let record = try await account(id) else { return [] }
    for link in try await identities(of: record) {
      notes += try await dependents(on: UpstreamKey(user: link.identity)).filter { $0.row == nil }.map(\.item)
    }
    return notes.map { note in
      var note = note
      (note.payload, note.expiresAt) = ("", now)
      return .putItem(note)
    }
  }

  /// The user at a provider whose sign-in began a session, for those that begin by what is allowed in it.
  func upstreamUser(of session: SessionID) async throws(RegistryError) -> UpstreamKey? {
    try await item(UpstreamDependency.userID(of: session)).map { UpstreamKey(text: $0.subject) }
  }
}
