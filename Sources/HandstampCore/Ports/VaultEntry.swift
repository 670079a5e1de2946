/// All that a vault keeps of one account: the session, and what is left of ended ones.
public struct VaultEntry: Sendable, Hashable {
  /// Raised by every write.
  public var revision: UInt64
  public var session: StoredSession?
  /// Ended sessions, oldest first: those that the server has not been told about, and the last one for its reason.
  public var tombstones: [Tombstone]
  /// How far the audit log had come: it may not end before. Lives as long as there is something else to keep.
  public var auditHead: AuditHead?

  public init(
    revision: UInt64 = 0, session: StoredSession? = nil, tombstones: [Tombstone] = [], auditHead: AuditHead? = nil
  ) {
    self.revision = revision
    self.session = session
    self.tombstones = tombstones
    self.auditHead = auditHead
  }

  public var isEmpty: Bool { session == nil && tombstones.isEmpty }

  /// The tombstone of `session`, if it ended here.
  public func tombstone(of session: SessionID) -> Tombstone? {
    tombstones.last { $0.session == session }
  }
}

/// One session as it is stored.
public struct StoredSession: Sendable, Hashable {
  public var id: SessionID
  public var profile: Profile
  public var refresh: RefreshToken?
  /// The rotation key of a refresh that has begun: whoever refreshes next sends this one.
  public var pendingKey: RotationKey?
  /// A refresh whose answer is not stored yet, at a server that keeps no rotation keys.
  public var attempt: RefreshAttempt?
  public var revocation: RevocationHandle?
  public var access: StoredAccess?
  public var startedAt: Moment
  public var activeAt: Moment
  /// Whether it may be written to a disk. One that is not lives and dies with its program.
  public var isRemembered: Bool

  public init(
    id: SessionID, profile: Profile, refresh: RefreshToken?, pendingKey: RotationKey? = nil,
    attempt: RefreshAttempt? = nil, revocation: RevocationHandle?, access: StoredAccess?, startedAt: Moment,
    activeAt: Moment,
    isRemembered: Bool = true
  ) {
    self.isRemembered = isRemembered
    self.id = id
    self.profile = profile
    self.refresh = refresh
    self.pendingKey = pendingKey
    self.attempt = attempt
    self.revocation = revocation
    self.access = access
    self.startedAt = startedAt
    self.activeAt = activeAt
  }
}

/// An access token and how long it is good. Without a lifetime it is good until an API refuses it.
public struct StoredAccess: Sendable, Hashable {
  public var token: AccessToken
  public var lifetime: Lifetime?

  public init(token: AccessToken, lifetime: Lifetime?) {
    self.token = token
    self.lifetime = lifetime
  }
}

/// What remains of a session after its end: enough to tell the server, and nothing that could bring it back.
public struct Tombstone: Sendable, Hashable {
  public var session: SessionID
  public var reason: EndReason
  public var endedAt: Moment
  /// Nothing when the server needs not be told.
  public var revocation: RevocationHandle?
  public var account: AccountID?
  /// When the server is to be told next, after it has answered in a way that decides nothing; `nil` for at once.
  public var delay: DeliveryDelay?
  /// The names of the clean-up steps that have not been done yet.
  public var steps: [String]

  /// Whether nothing is left to do: it is kept for its reason alone.
  public var isFinished: Bool { revocation == nil && steps.isEmpty }

  public init(
    session: SessionID, reason: EndReason, endedAt: Moment, revocation: RevocationHandle?, account: AccountID? = nil,
    delay: DeliveryDelay? = nil, steps: [String] = []
  ) {
    self.delay = delay
    self.account = account
    self.steps = steps
    self.session = session
    self.reason = reason
    self.endedAt = endedAt
    self.revocation = revocation
  }
}

/// How often a server has refused to hear of an end without saying why, as with a bare 401, and when last.
public struct DeliveryDelay: Sendable, Hashable {
  /// From 1 on.
  public var attempts: Int
  public var last: Moment

  public init(attempts: Int, last: Moment) {
    self.attempts = attempts
    self.last = last
  }

  /// A minute, doubled with each attempt, up to a day.
  package var duration: Duration { min(.seconds(60) * (1 << min(max(attempts, 1) - 1, 11)), .seconds(86_400)) }

  /// How long it lasts still; nothing is waited for where the clocks do not tell.
  package func rest(at now: Moment) -> Duration {
    if now.elapsed(since: last) == nil, now.wall < last.wall { return .zero }
    return max(.zero, duration - now.estimatedElapsed(since: last))
  }

  /// The one after the next attempt.
  package static func next(after delay: DeliveryDelay?, at now: Moment) -> DeliveryDelay {
    DeliveryDelay(attempts: min(delay?.attempts ?? 0, 1000) + 1, last: now)
  }
}
