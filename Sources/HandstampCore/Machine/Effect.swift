extension SessionMachine {
  /// What is to be done about an event, in this order.
  package enum Effect: Sendable, Hashable {
    // Announcements: done at once, they never suspend.
    case publish(SessionState)
    case audit(AuditEntry)
    case startTimer(Timer, ticket: UInt64, after: Duration)
    /// Callers get their token, or why there is none.
    case resume([Waiter], Result<StoredAccess, SessionError>)
    /// A sign-in or a sign-out is over.
    case finish(Waiter, Result<SignedOutcome, SessionError>)
    /// Requests of the former epoch are no longer anybody's.
    case cancelRequests
    case unlock(Operation)
    /// The answer to this request is no longer waited for.
    case abandon(Operation)
    /// The event made no sense here, or came too late. Nothing changed.
    case ignored

    // Work: answered by one event that names the operation.
    case read(Operation)
    case edit(Operation, VaultEdit)
    case lock(Operation, within: Duration)
    case askRefresh(Operation, RefreshToken, RotationKey)
    /// Does one clean-up step, by its name. Repeated from the tombstone until it succeeds.
    case clean(EndedSession, step: String)
    /// Best effort, repeated from the tombstone until it is delivered.
    case revoke(SessionID, RevocationHandle)
  }

  /// How a sign-in or a sign-out went.
  package enum SignedOutcome: Sendable, Hashable {
    case signedIn(SignedIn)
    case signedOut
    /// Signed out here, but the store could not take it down; it is tried again.
    case signedOutNotDurably(VaultTrouble)
    /// What requests carry was replaced, and is stored.
    case renewed
    /// It had been replaced by somebody else before: the newest is in use now, and may have to be replaced in its turn.
    case renewedElsewhere
  }
}
