import HandstampSupport

/// The content of an account's vault: the session, and the tombstones of ended ones.
public struct VaultEntry: Sendable, Hashable {
  /// Incremented by every write.
  public var revision: UInt64
  /// The session; `nil` if signed out.
  public var session: StoredSession?
  /// Ended sessions, oldest first: those with a pending revocation, and the last one for its reason.
  package var tombstones: [Tombstone]
  /// The audit log's progress: it must not end before. Kept as long as the entry has other content.
  public var auditHead: AuditHead?
  /// A sign-in whose session is not stored yet; `nil` if there is none.
  public var signIn: PendingSignIn?

  /// An entry without content, which was never written.
  public init() { self.init(revision: 0) }

  package init(
    revision: UInt64 = 0, session: StoredSession? = nil, tombstones: [Tombstone] = [], auditHead: AuditHead? = nil,
    signIn: PendingSignIn? = nil
  ) {
    (self.revision, self.session, self.tombstones) = (revision, session, tombstones)
    (self.auditHead, self.signIn) = (auditHead, signIn)
  }

  /// Whether there is neither a session nor a tombstone, nor a sign-in.
  public var isEmpty: Bool { session == nil && tombstones.isEmpty && signIn == nil }

  /// Returns the tombstone of `session`, if it ended here.
  package func tombstone(of session: SessionID) -> Tombstone? {
    tombstones.last { $0.session == session }
  }
}

/// One stored session.
public struct StoredSession: Sendable, Hashable {
  public var id: SessionID
  /// `nil` while the server has not said who signed in.
  public var profile: Profile?
  /// The refresh token; `nil` if the server issued none.
  package var refresh: RefreshToken?
  /// The rotation key of a refresh that has begun: the next refresh sends the same one.
  package var pendingKey: RotationKey?
  /// A refresh whose response is not stored yet, at a server without rotation keys.
  package var attempt: RefreshAttempt?
  /// The server's support of rotation keys, as far as it has shown it.
  package var rotationKeys: RotationKeyUse
  /// Whether the server has ever replaced the refresh token; `nil` before the first refresh.
  package var isRotated: Bool?
  /// The handle that ends the session at the server; `nil` if there is none.
  package var revocation: RevocationHandle?
  /// The server that issued the tokens; `nil` if that was not stored. See ``BackendAbilities/issuer``.
  package var issuer: String?
  /// The credential of requests; `nil` if there is none yet.
  package var access: StoredAccess?
  /// The ID token of the last response that brought one; `nil` if none did. It extends nothing: the session goes on without it.
  package var idToken: StoredIDToken?
  /// Tokens for other targets, which all processes share. None without a lifetime is stored: no process could know that it is over.
  package var targeted: [TokenTarget: StoredAccess] = [:]
  /// When the session began.
  package var startedAt: Moment
  /// When the session was last used.
  package var activeAt: Moment
  /// Whether the session may be written to disk. Otherwise it ends with its program.
  package var isRemembered: Bool

  package init(
    id: SessionID, profile: Profile?, refresh: RefreshToken?, pendingKey: RotationKey? = nil,
    attempt: RefreshAttempt? = nil, revocation: RevocationHandle?, access: StoredAccess?, startedAt: Moment,
    activeAt: Moment, isRemembered: Bool = true, rotationKeys: RotationKeyUse = .unknown, isRotated: Bool? = nil,
    issuer: String? = nil
  ) {
    (self.id, self.profile, self.issuer, self.isRemembered) = (id, profile, issuer, isRemembered)
    (self.refresh, self.pendingKey, self.attempt, self.isRotated) = (refresh, pendingKey, attempt, isRotated)
    (self.revocation, self.access, self.rotationKeys) = (revocation, access, rotationKeys)
    (self.startedAt, self.activeAt) = (startedAt, activeAt)
  }
}

/// The support of an OAuth server for the rotation keys of a session, as far as it has shown it.
package enum RotationKeyUse: UInt8, Sendable, Hashable, CaseIterable {
  /// No response has said that a key was used.
  case unknown = 0
  /// The last response says that its key was used: a repeat is free.
  case accepted = 1
  /// An earlier response said so, but not the last one: the key is sent, and no repeat is free.
  case ignored = 2

  /// Returns the use after another response.
  func after(_ accepts: Bool) -> RotationKeyUse { accepts ? .accepted : self == .unknown ? .unknown : .ignored }
}

extension StoredSession {
  /// The session that a token response begins.
  package init(
    _ grant: TokenResponse, id: SessionID, at now: Moment, issuer: String?, revokesRefreshTokens: Bool,
    isRemembered: Bool = true
  ) {
    self.init(
      id: id, profile: grant.profile, refresh: grant.tokens.refresh,
      revocation: grant.handle(revokesRefreshTokens: revokesRefreshTokens),
      access: StoredAccess(grant.tokens, since: now), startedAt: now, activeAt: now, isRemembered: isRemembered,
      rotationKeys: RotationKeyUse.unknown.after(grant.acceptsRotationKey), issuer: issuer ?? grant.issuer)
    idToken = grant.idToken.map { StoredIDToken($0, since: now) }
  }

  /// The part that can be read while the refresh item is locked.
  package var withAccessOnly: StoredSession {
    var copy = self
    (copy.refresh, copy.pendingKey, copy.revocation, copy.idToken, copy.targeted) = (nil, nil, nil, nil, [:])
    return copy
  }

  /// The most tokens for other targets. More than a program asks for are fetched anew.
  package static let targetLimit = 16

  /// Keeps a token for another target, in place of those that have expired.
  mutating func keep(_ access: StoredAccess, for target: TokenTarget) {
    guard let lifetime = access.lifetime else { return }
    targeted = targeted.filter { $0.value.lifetime.map { $0.remaining(at: lifetime.start) > .zero } ?? false }
    if targeted.count >= StoredSession.targetLimit { targeted = [:] }
    targeted[target] = access
  }

  /// The account of one person. `nil` if the server named no one: such an account is named after its issuer, and may be any person's.
  package var person: AccountID? { profile.flatMap { $0.id.rawValue == issuer ? nil : $0.id } }

  /// Whether it belongs to another person's account, or `ifUnknown`.
  package func isOfAnotherAccount(than other: StoredSession, ifUnknown: Bool = true) -> Bool {
    guard let own = person, let theirs = other.person else { return ifUnknown }
    return own != theirs || isOfAnotherServer(than: other)
  }

  /// Whether it can bring no token any more: its access token has expired, and there is nothing to refresh it with.
  package func isOver(at now: Moment) -> Bool {
    guard refresh == nil, let lifetime = access?.lifetime else { return false }
    return lifetime.remaining(at: now) <= .zero
  }

  /// Whether a response to its refresh may be its own.
  package func isOf(_ named: AccountID?) -> Bool {
    guard let named, let own = person else { return true }
    return named == own
  }

  /// Whether another server issued it; `false` if either server is not known.
  package func isOfAnotherServer(than other: StoredSession) -> Bool {
    guard let own = issuer, let theirs = other.issuer else { return false }
    return !own.isSameServer(as: theirs)
  }
}

/// The credential of a session's requests: an access token and its lifetime, or cookies.
package struct StoredAccess: Sendable, Hashable {
  package var credential: Credential
  /// The token's lifetime; `nil` if the server did not send it: it is valid until an API rejects it. Always `nil` for cookies,
  /// which carry their expiry dates.
  package var lifetime: Lifetime?

  package init(_ credential: Credential, lifetime: Lifetime? = nil) {
    self.credential = credential
    self.lifetime = lifetime
  }

  package init(token: AccessToken, lifetime: Lifetime?) { self.init(.accessToken(token), lifetime: lifetime) }

  init(_ tokens: TokenSet, since start: Moment) {
    self.init(tokens.credential, lifetime: tokens.expiresIn.map { Lifetime(start: start, duration: $0) })
  }

  /// The access token; `nil` for cookies.
  package var token: AccessToken? { credential.token }
}

/// An ID token, and when it expires.
package struct StoredIDToken: Sendable, Hashable {
  package var secret: Secret
  package var lifetime: Lifetime

  package init(_ secret: Secret, lifetime: Lifetime) {
    self.secret = secret
    self.lifetime = lifetime
  }

  init(_ token: IDToken, since start: Moment) {
    self.init(token.secret, lifetime: Lifetime(start: start, duration: token.expiresIn))
  }
}

/// The remains of an ended session: enough to revoke it at the server, and nothing that could restore it.
package struct Tombstone: Sendable, Hashable {
  package var session: SessionID
  package var reason: EndReason
  /// When the session ended.
  package var endedAt: Moment
  /// The handle of the pending revocation; `nil` if none is pending.
  package var revocation: RevocationHandle?
  /// The account, while work is pending; `nil` afterwards, or if unknown.
  package var account: AccountID?
  /// The server to which the revocation is sent; `nil` if that was not stored.
  package var issuer: String?
  /// When the revocation is retried, after a response that decided nothing; `nil` for at once.
  package var delay: DeliveryDelay?
  /// The names of the clean-up steps that have not run yet.
  package var steps: [String]

  /// Whether no work is pending: the tombstone is kept only for its reason.
  package var isFinished: Bool { revocation == nil && steps.isEmpty }

  package init(
    session: SessionID, reason: EndReason, endedAt: Moment, revocation: RevocationHandle?, account: AccountID? = nil,
    issuer: String? = nil, delay: DeliveryDelay? = nil, steps: [String] = []
  ) {
    (self.session, self.reason, self.endedAt) = (session, reason, endedAt)
    (self.account, self.issuer, self.steps) = (account, issuer, steps)
    (self.revocation, self.delay) = (revocation, delay)
  }
}

/// How often a server has refused a revocation without a reason, as with a bare 401, and when last.
package struct DeliveryDelay: Sendable, Hashable {
  /// The number of refusals, from 1 on.
  package var attempts: Int
  /// When the last refusal arrived.
  package var last: Moment

  package init(attempts: Int, last: Moment) {
    self.attempts = attempts
    self.last = last
  }

  /// A minute, doubled with each attempt, up to a day.
  package var duration: Duration { min(.seconds(60) * (1 << min(max(attempts, 1) - 1, 11)), .seconds(86_400)) }

  /// Returns the remaining delay; zero if the clocks cannot be compared.
  package func rest(at now: Moment) -> Duration {
    if now.elapsed(since: last) == nil, now.wall < last.wall { return .zero }
    return max(.zero, duration - now.estimatedElapsed(since: last))
  }

  /// Returns the delay after the next attempt.
  package static func next(after delay: DeliveryDelay?, at now: Moment) -> DeliveryDelay {
    DeliveryDelay(attempts: min(delay?.attempts ?? 0, 1000) + 1, last: now)
  }
}

extension String {
  /// Whether two URLs name the same server: they differ at most in the case of scheme and host, the usual port, a dot at the end of
  /// the host, and slashes at the end.
  package func isSameServer(as other: String) -> Bool { self == other || serverName == other.serverName }

  private var serverName: String {
    guard let url = WebURL(self) else { return self }
    let host = url.origin.host.hasSuffix(".") ? String(url.origin.host.dropLast()) : url.origin.host
    var path = url.path
    while path.hasSuffix("/") { path.removeLast() }
    return Origin(scheme: url.origin.scheme, host: host, port: url.origin.port).text + path
  }
}
