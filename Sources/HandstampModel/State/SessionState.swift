/// What an app shows.
public enum SessionState: Sendable, Hashable {
  /// The vault has not answered yet.
  case restoring
  /// Nobody is signed in; how the last session ended, if one did.
  case signedOut(EndReason?)
  case signedIn(SignedIn)
  /// It cannot be known, or not be used, for this reason. Nothing was erased; ``SessionError/recovery`` is the way on.
  case unavailable(SessionError)
}

/// The facts of a live session. No secret among them.
public struct SignedIn: Sendable, Hashable {
  public var session: SessionID
  public var profile: Profile
  public var startedAt: UnixTime

  public init(session: SessionID, profile: Profile, startedAt: UnixTime) {
    self.session = session
    self.profile = profile
    self.startedAt = startedAt
  }
}
