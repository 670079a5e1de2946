public import HandstampCore
import HandstampSupport

/// The result of a sign-in. Its tokens are not stored: the caller mints those that the client gets.
public struct NewSession: Sendable, Hashable {
  /// The account after the sign-in.
  public var account: AccountRecord
  public var row: SessionRow
  /// The grant of its first access token: the session's, or less. `nil` for the server's own app.
  public var grant: SessionClient?
  /// Whether an earlier request with the same key began it, whose response this one repeats.
  public var isRepeated = false

  init(_ row: SessionRow, of account: AccountRecord, isRepeated: Bool = false) {
    (self.row, self.account, grant) = (row, account, row.client)
    self.isRepeated = isRepeated
  }

  /// The first refresh token, see ``TokenMint/refreshToken(_:)``. Of no use for the session of a browser, which has no refresh.
  public var token: RefreshClaims { RefreshClaims(session: row.session, counter: 0, mark: .zero) }
}

/// Properties of a session that are fixed when it is created.
struct SessionOrigin: Sendable {
  var start: SessionStart
  var way: SignInWay
  /// The purpose of the request. Another one is a repeat only if both its key and its purpose are the same.
  var subject: [String]
  var client: SessionClient?
  /// Its ID, if the caller has to know it in advance.
  var session: SessionBytes?
  /// When the user proved to be the account's owner; `nil` if that was just now.
  var authenticatedAt: UnixTime?
  /// How; `nil` as the way says.
  var methods: AuthenticationMethods?
  /// When it ends at the latest, besides the limits.
  var latestExpiry: UnixTime?
  /// Whether it is on another device than the browser in which the user has allowed it.
  var isElsewhere = false
  /// The session at another provider that it depends on.
  var upstream: UpstreamSession?
  /// The user at a provider that it depends on, as the session in which it was allowed does.
  var upstreamUser: UpstreamKey?

  /// The key of an OAuth client's request, as the rotation before its first token.
  var ring: [KeyRing.Entry] {
    guard client != nil, let key = start.key else { return [] }
    return [.keyed(KeyMark(of: key))]
  }
}

extension SessionOrigin {
  /// The origin of a session that a user begins by signing in.
  init(_ start: SessionStart, by use: CredentialUse) {
    self.init(
      start: start, way: use.way, subject: ["sign-in", use.account.id.rawValue], authenticatedAt: use.authenticatedAt,
      methods: use.methods, latestExpiry: use.latestExpiry, upstream: use.upstream)
  }
}

extension Registry {
  /// Creates a session for a user who has signed in.
  ///
  /// An earlier session of the same device and account goes on until the new one is used, see ``recordFirstUse(of:now:)``: a lost
  /// response changes nothing for the user.
  ///
  /// - Parameter use: the credential that was checked, and the account.
  /// - Throws: ``RegistryError/accountChanged`` if the account has changed since the check: a new password stops a sign-in
  ///   with the old one. ``RegistryError/oneTimeTokenInvalid`` if `use` was used at the same time, or removed;
  ///   ``RegistryError/keyUsed``.
  public func createSession(
    by use: CredentialUse, _ start: SessionStart, now: UnixTime
  ) async throws(RegistryError) -> NewSession {
    try await createSession(for: use.account, SessionOrigin(start, by: use), with: use.changes, now: now)
  }

  /// Returns the unused session that ``createSession(by:_:now:)`` has created for a request with the same key, or `nil`. Hand it out
  /// only to a client that knows the account's password as well.
  ///
  /// - Throws: ``RegistryError/keyUsed``.
  public func repeatedSession(
    for account: AccountRecord, _ start: SessionStart, now: UnixTime
  ) async throws(RegistryError) -> NewSession? {
    try await repeated(SessionOrigin(start, by: .password(of: account)), of: account.id, now: now)
  }

  /// Creates a session in one write, after `changes`.
  ///
  /// - Throws: ``RegistryError/oneTimeTokenInvalid`` if something that `changes` depend on is no longer as they expect, such as a
  ///   one-time token that was used.
  func createSession(
    for account: AccountRecord, _ origin: SessionOrigin, with changes: [RegistryChange], now: UnixTime
  ) async throws(RegistryError) -> NewSession {
    guard account.closedAt == nil else { throw .accountClosed }
    if let repeated = try await repeated(origin, of: account.id, now: now) { return repeated }
    // A session that goes on is no news to its owner.
    let notice: [RegistryChange] =
      if origin.way == .formerSession { [] } else if let client = origin.client {
        try await noticing(client, origin.start.device.name, of: account, isElsewhere: origin.isElsewhere, now: now)
      } else {
        try await noticing(
          origin.start.device.id, named: NoticedName(text: origin.start.device.name), of: account, now: now)
      }
    for _ in 0..<Registry.attempts {
      let live = try await liveSessions(of: account.id)
      let upstream = try await expectations(of: origin.upstream, now: now)
      do throws(RegistryStoreError) {
        return try await begin(
          account, origin, among: live, now: now,
          with: changes + [.expectAccount(account.id, revision: account.revision)] + notice
            + upstream)
      } catch {
        if case .unavailable = error { throw RegistryError(error) }
        // The same request, at the same time.
        if let repeated = try await repeated(origin, of: account.id, now: now) { return repeated }
        guard try await stillHold(changes) else { throw .oneTimeTokenInvalid }
        // A session that exists already began at the same time.
        guard error != .alreadyExists else { continue }
        // Of the user at a provider, another sign-in or an end was noted: look again.
        let known = upstream.filter { if case .createItem = $0 { false } else { true } }
        guard try await stillHold(known) else { continue }
        try await confirm(account)
      }
    }
    throw Registry.contention
  }

  /// Creates a session, in one write, after `changes`. It ends only sessions that cannot wait for its first use.
  ///
  /// - Parameters:
  ///   - live: the account's sessions.
  ///   - ending: those of them that end at once, as `replaced`, and whose devices do not stay known.
  func begin(
    _ account: AccountRecord, _ origin: SessionOrigin, among live: [SessionRow],
    ending strangers: [SessionRow] = [], now: UnixTime, with changes: [RegistryChange], events: [RegistryEvent] = []
  ) async throws(RegistryStoreError) -> NewSession {
    let lasting = live.filter { row in !strangers.contains { $0.id == row.id } }
    let surplus = surplus(lasting, for: origin.start.device)
    let previous = lasting.filter { row in !surplus.contains { $0.id == row.id } }
    let row = newRow(
      account, origin, replacing: replaced(previous, by: origin.start.kind, of: origin.start.device, now: now), now)
    var (changes, events) = (changes, events)
    for old in strangers + surplus {
      // A session that had already expired keeps that reason.
      let reason = old.endReason(at: now) ?? .replaced
      changes += ending(old, SessionEnd(at: now, reason: reason))
      if !strangers.contains(where: { $0.id == old.id }), let device = try await remembering(old) {
        changes.append(device)
      }
      events.append(.revoked(old.ended(reason, at: now), at: now))
    }
    changes.append(.createSession(row))
    if let keys = origin.upstream?.keys ?? origin.upstreamUser.map({ (user: $0, session: nil) }) {
      changes += UpstreamDependency.changes(for: row, on: keys.user, keys.session)
    }
    changes.append(
      audited(.signedIn, account: account.id, session: row.id, details: details(of: origin), at: now))
    if let device = try await remembering(row) { changes.append(device) }
    events.append(RegistryEvent(kind: .sessionEstablished, account: account.id, session: row.id, at: now))
    try await store.write(changes, events: events)
    return NewSession(row, of: account)
  }

  /// The details of a session that begins, for the audit log.
  private func details(of origin: SessionOrigin) -> String {
    var json = JSONText([("way", origin.way.rawValue)])
    if !origin.start.device.name.isEmpty { json.add("device", origin.start.device.name) }
    json.add("client", ifPresent: origin.client?.id)
    return json.text
  }

  /// Returns the unused session that an earlier request with the same key began; `nil` without a key, or if there was none.
  ///
  /// - Parameter account: the account that the request is for; `nil` if only the key tells.
  /// - Throws: ``RegistryError/keyUsed`` if it cannot be handed out again.
  func repeated(
    _ origin: SessionOrigin, of account: AccountID? = nil, now: UnixTime
  ) async throws(RegistryError) -> NewSession? {
    for session in sessions(of: origin) {
      guard let row = try await storedSession(session.id) else { continue }
      guard row.pending?.canBeForgotten == true, row.counter == 0, row.endReason(at: now) == nil,
        row.kind == origin.start.kind,
        row.client?.id == origin.client?.id, row.dpopThumbprint == origin.start.thumbprint,
        row.account == account ?? row.account,
        let account = try await self.account(row.account), account.closedAt == nil
      else { throw .keyUsed }
      return NewSession(row, of: account, isRepeated: true)
    }
    return nil
  }

  /// The sessions that a request may have begun, the one that it begins now first; none without a key.
  func sessions(of origin: SessionOrigin) -> [SessionBytes] {
    guard let key = origin.start.key else { return [] }
    // The session of another client is its own device.
    let place = origin.client == nil ? origin.start.device.id.rawValue : ""
    return mint.sessions(begunBy: key, for: origin.subject + [place])
  }

  /// The ID of the session that a request begins.
  func sessionBytes(of origin: SessionOrigin) -> SessionBytes {
    if let known = origin.session ?? sessions(of: origin).first { return known }
    var source = source
    return SessionBytes(from: &source)
  }

  /// The account's sessions that were not ended.
  func liveSessions(of account: AccountID) async throws(RegistryError) -> [SessionRow] {
    try await read(try await store.sessions(of: account))
  }

  /// Throws if the stored account is no longer this record, to tell a change of the account from one of a session.
  func confirm(_ account: AccountRecord) async throws(RegistryError) {
    guard let stored = try await self.account(account.id) else { throw .notFound }
    guard stored.closedAt == nil else { throw .accountClosed }
    guard stored.revision == account.revision else { throw .accountChanged }
  }

  private func newRow(
    _ account: AccountRecord, _ origin: SessionOrigin, replacing previous: [SessionID], _ now: UnixTime
  ) -> SessionRow {
    let start = origin.start
    let life = SessionLife(
      of: start.kind, start.persistence, client: origin.client, isGuest: account.isGuest, in: limits)
    return SessionRow(
      session: sessionBytes(of: origin), account: account.id, device: start.device, kind: start.kind,
      persistence: start.persistence, client: origin.client, ring: KeyRing(origin.ring), createdAt: now,
      authenticatedAt: origin.authenticatedAt, methods: origin.methods ?? origin.way.methods,
      absoluteExpiry: [life.absolute.map { now.advanced(by: $0) }, origin.latestExpiry].compactMap(\.self).min(),
      idleLimit: life.idle, dpopThumbprint: start.thumbprint,
      pending: PendingSession(
        canBeForgotten: start.kind == .browser || start.key != nil,
        replaces: previous + (start.leaving.map { [$0] } ?? [])))
  }
}

extension RegistryEvent {
  static func revoked(_ row: SessionRow, at now: UnixTime) -> RegistryEvent {
    RegistryEvent(kind: .sessionRevoked, account: row.account, session: row.id, reason: row.end?.reason, at: now)
  }
}

extension Registry {
  /// Creates an account and its first session, in one write.
  ///
  /// - Parameters:
  ///   - email: `nil` for a guest, whose only way into the account is this session.
  ///   - start: its session. A repeat with the same key for a guest gets the same account; for one with an address, see
  ///     ``repeatedSignUp(email:_:now:)``.
  /// - Throws: ``RegistryError/emailTaken`` if an account already uses the address; ``RegistryError/keyUsed``.
  public func signUp(
    email: EmailAddress?, username: String, passwordHash: Secret?, _ start: SessionStart, now: UnixTime
  ) async throws(RegistryError) -> NewSession {
    let origin = signUpOrigin(email, start)
    // Guests differ in their key alone.
    if email == nil, let repeated = try await repeated(origin, now: now) { return repeated }
    let record = newAccount(email: email, username: username, passwordHash: passwordHash, now: now)
    do throws(RegistryStoreError) {
      return try await begin(
        record, origin, among: [], now: now,
        with: [.createAccount(record), audited(.accountCreated, account: record.id, at: now)])
    } catch {
      switch error {
      // IDs are random, so only the address can be taken, or the same request was made at the same time.
      case .alreadyExists:
        if email == nil, let repeated = try await repeated(origin, now: now) { return repeated }
        throw .emailTaken
      case .conflict, .notFound, .unavailable: throw RegistryError(error)
      }
    }
  }

  /// Returns the unused session of an account that an earlier sign-up with the same key and address has created; `nil` if there is
  /// none. Hand it out only to a client that knows the account's password as well.
  public func repeatedSignUp(
    email: EmailAddress, _ start: SessionStart, now: UnixTime
  ) async throws(RegistryError) -> NewSession? {
    try await repeated(signUpOrigin(email, start), now: now)
  }

  private func signUpOrigin(_ email: EmailAddress?, _ start: SessionStart) -> SessionOrigin {
    SessionOrigin(start: start, way: email == nil ? .guest : .signUp, subject: ["sign-up", email?.normalized ?? ""])
  }

  /// Turns a guest account into a full one with the same ID, and creates a session that replaces all of the guest's, in one
  /// write. The guest's session on the same device goes on until the new one is used.
  ///
  /// - Parameter start: the session. For a repeat with the same key, see ``repeatedUpgrade(of:_:now:)``.
  /// - Throws: ``RegistryError/emailTaken`` or ``RegistryError/identityTaken`` if another account has the address or the identity,
  ///   ``RegistryError/notGuest`` if this one is already a full account. The guest's account and sessions are then unchanged.
  public func upgrade(
    _ guest: AccountRecord, to way: WayIn, username: String, _ start: SessionStart, now: UnixTime
  ) async throws(RegistryError) -> NewSession {
    try await upgrade(guest, to: way, username: username, upgradeOrigin(guest.id, start), now: now)
  }

  /// Returns the unused session that an earlier upgrade with the same key has created; `nil` if there is none. Hand it out only to a
  /// client that knows the account's address and password as well.
  public func repeatedUpgrade(
    of account: AccountRecord, _ start: SessionStart, now: UnixTime
  ) async throws(RegistryError) -> NewSession? {
    try await repeated(upgradeOrigin(account.id, start), of: account.id, now: now)
  }

  private func upgradeOrigin(_ guest: AccountID, _ start: SessionStart) -> SessionOrigin {
    SessionOrigin(start: start, way: .upgrade, subject: ["upgrade", guest.rawValue])
  }

  /// - Parameter token: the confirmation of the address, which the same write redeems.
  func upgrade(
    _ guest: AccountRecord, to way: WayIn, username: String, _ origin: SessionOrigin, now: UnixTime,
    using token: OneTimeTokenID? = nil
  ) async throws(RegistryError) -> NewSession {
    guard guest.closedAt == nil else { throw .accountClosed }
    guard guest.isGuest else { throw .notGuest }
    var (full, origin) = (guest, origin)
    full.email = way.email
    full.username = username
    full.credentialsChangedAt = now
    var changes: [RegistryChange] = token.map { [.redeemOneTimeToken($0)] } ?? []
    switch way {
    case .password(_, let hash):
      full.passwordHash = hash
      // The token came by mail.
      full.emailConfirmedAt = token == nil ? nil : now
    case .identity(let proof, let email):
      full.identity = email == nil ? proof.identity : nil
      full.emailConfirmedAt = email == nil ? nil : now
      let use = CredentialUse(
        by: proof, of: full, changes: [.createItem(LinkedIdentity(proof, of: guest.id, at: now).item)])
      (origin.methods, origin.upstream, origin.authenticatedAt) = (use.methods, use.upstream, use.authenticatedAt)
      origin.latestExpiry = use.latestExpiry
      changes += use.changes + (try await expectations(of: use.upstream, now: now))
    case .passkey(_, let passkey, let challenge):
      origin.methods = .passkey(mayBeCopied: passkey.isBackupEligible)
      var used = passkey
      used.lastUsedAt = now
      changes += [.createOneTimeToken(challenge), .createItem(used.item)]
    }
    changes.append(.replaceAccount(full, expecting: guest.revision))
    changes.append(.voidOneTimeTokens(.upgrade, subject: guest.id.rawValue))
    // The guest may have been a stranger, who asked for a mail to the address of the one who confirms it.
    changes +=
      token == nil
      ? [StoredItem.Kind.device, .client].map { .removeItems($0, subject: guest.id.rawValue) }
      : TakeBack.everything.changes(of: guest.id)
    full.revision += 1
    let event = RegistryEvent(kind: .credentialChange, account: guest.id, at: now)
    for _ in 0..<Registry.attempts {
      let live = try await liveSessions(of: guest.id)
      do throws(RegistryStoreError) {
        return try await begin(
          full, origin, among: live,
          // Those on other devices end at once: the guest may have been a stranger, see above.
          ending: live.filter { $0.device.id != origin.start.device.id }, now: now,
          with: changes, events: [event])
      } catch {
        switch error {
        case .alreadyExists: try await refuse(way)
        case .conflict, .notFound:
          if let token, try await liveOneTimeToken(token, now: now) == nil { throw .oneTimeTokenInvalid }
          try await confirm(guest)
        case .unavailable: throw RegistryError(error)
        }
      }
    }
    throw Registry.contention
  }

  /// Throws what another account has, or what was used before.
  private func refuse(_ way: WayIn) async throws(RegistryError) {
    if let email = way.email, try await account(email: email) != nil { throw .emailTaken }
    switch way {
    case .password: return
    case .identity(let proof, _):
      if try await account(identity: proof.identity) != nil { throw .identityTaken }
      if let nonce = proof.nonce, try await hasUsed(nonce) { throw .nonceUsed }
    case .passkey(_, let passkey, let challenge):
      if try await self.passkey(passkey.id) != nil { throw .oneTimeTokenInvalid }
      if try await hasUsed(challenge) { throw .oneTimeTokenInvalid }
    }
  }

  func newAccount(
    email: EmailAddress? = nil, identity: ExternalIdentity? = nil, username: String, passwordHash: Secret?,
    now: UnixTime
  ) -> AccountRecord {
    var source = source
    return AccountRecord(
      id: AccountID("acc_" + SessionBytes(from: &source).id.rawValue), email: email, identity: identity,
      username: username, passwordHash: passwordHash, createdAt: now)
  }
}

/// The way in that makes a guest's account a full one: its owner can sign in to it again.
public enum WayIn: Sendable {
  case password(EmailAddress, hash: Secret)
  /// - Parameter email: an address that the provider is trusted to have verified, and that no account has; `nil` for none.
  case identity(IdentityProof, email: EmailAddress?)
  /// - Parameter challenge: the record of the challenge that the passkey was made for, which refuses a second use.
  case passkey(EmailAddress, PasskeyRecord, challenge: OneTimeTokenRecord)

  var email: EmailAddress? {
    switch self {
    case .password(let email, _), .passkey(let email, _, _): email
    case .identity(_, let email): email
    }
  }
}
