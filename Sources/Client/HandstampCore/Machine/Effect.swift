extension SessionMachine {
  /// The work that an event leads to, in this order.
  package enum Effect: Sendable, Hashable {
    // Announcements: done at once, they never suspend.
    case publish(SessionState)
    case audit(AuditEntry)
    /// A refresh of this process has ended; with the error if it brought no tokens, or none that could be stored.
    case refreshed(SessionID, SessionError?)
    /// Tokens that another process obtained are in use from now on.
    case adopted(SessionID)
    case startTimer(Timer, ticket: UInt64, after: Duration)
    /// Gives callers their token, or the error.
    case resume([Waiter], Result<StoredAccess, SessionError>)
    /// A sign-in, a sign-out, or the replacement of a credential or a profile has finished.
    case finish(Waiter, Result<CommandOutcome, SessionError>)
    /// Cancels requests started in an earlier epoch.
    case cancelRequests
    case unlock(Operation)
    /// The response to this request is no longer awaited.
    case abandon(Operation)
    /// The event made no sense here, or came too late: the session in use is unchanged.
    case ignored

    // Work: answered by one event that names the operation, or, for clean-ups and revocations, the session.
    case read(Operation)
    case edit(Operation, VaultEdit)
    case lock(Operation, within: Duration)
    case askRefresh(Operation, RefreshRequest)
    /// Finds out whether the sender of an attempt has ended.
    case checkSender(Operation, RefreshAttempt)
    /// Runs one clean-up step, by name. Repeated from the tombstone until it succeeds.
    case clean(EndedSession, step: String)
    /// Best effort, repeated from the tombstone until the server decides.
    case revoke(SessionID, RevocationHandle)
  }

  /// The result of a sign-in, a sign-out, or the replacement of a credential or a profile.
  package enum CommandOutcome: Sendable, Hashable {
    /// Also the session in use, with its new profile.
    case signedIn(SignedIn)
    /// The session that ended, or the last one that did if there was none; `nil` if neither is known. With an error: signed out
    /// here, but the vault could not store it; it is retried.
    case signedOut(SessionID?, storageError: VaultError? = nil)
    /// The credential in requests was replaced, and is stored.
    case renewed
    /// Another process had replaced it before: the newest is in use now, and may have to be replaced in turn.
    case renewedElsewhere
  }
}
