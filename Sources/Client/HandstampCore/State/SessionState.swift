/// The state of a session, for an app's user interface.
public enum SessionState: Sendable, Hashable {
  /// The vault has not been read yet.
  case restoring
  /// No session; the reason why the last one ended, or `nil` if none is known to have ended.
  case signedOut(EndReason?)
  /// A session is in use. Its access token may have expired, and the server may be unreachable.
  case signedIn(SignedIn)
  /// The session is unknown or cannot be used, for this reason. Nothing was erased; ``SessionError/recovery`` is the step that
  /// helps.
  case unavailable(SessionError)
}

/// The facts of a live session. Contains no secrets.
public struct SignedIn: Sendable, Hashable {
  /// The session's ID.
  public var id: SessionID
  /// The signed-in user; `nil` if the server did not say.
  public var profile: Profile?
  /// When the user signed in.
  public var startedAt: UnixTime
  /// The end of the session by a limit of its policy, while it is near; `nil` before, and without limits. See
  /// ``SessionPolicy/endNotice``.
  public var upcomingEnd: UpcomingEnd?

  public init(id: SessionID, profile: Profile?, startedAt: UnixTime) {
    self.id = id
    self.profile = profile
    self.startedAt = startedAt
  }
}

/// An end of a session that is near.
public struct UpcomingEnd: Sendable, Hashable {
  /// The limit that ends the session: ``EndReason/idle``, which a use of the session puts off, or ``EndReason/expired``, which
  /// nothing puts off.
  public var reason: EndReason
  /// When the session ends, by the device's wall clock.
  public var at: UnixTime

  public init(reason: EndReason, at: UnixTime) {
    self.reason = reason
    self.at = at
  }
}
