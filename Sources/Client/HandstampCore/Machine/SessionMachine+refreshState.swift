/// The step of a refresh that is in progress.
extension SessionMachine {
  /// One refresh. Its state carries the operation that it waits for.
  struct Refresh: Sendable, Hashable {
    var state: State
    var attempt = 1
    var newKey: RotationKey?
    /// The token that is requested; `nil` for the session's own.
    var target: TokenTarget?
    var lock: Operation?
    /// The number of attempts without a response, one of another process included.
    var unanswered = 0
    /// Whether the vault has been read since the lock was acquired.
    var hasReadVault = false
    /// Whether the sender of the attempt that was found has ended; `nil` until that was checked.
    var senderHasEnded: Bool?
    /// The attempt whose limit this refresh waits for.
    var awaited: RefreshAttempt?
    /// The error for waiting callers at its end.
    var failure: SessionError?
    /// How often this refresh continued with what the vault then held; bounded, so that a constantly changing vault cannot
    /// prolong it indefinitely.
    var rereads = 0

    enum State: Sendable, Hashable {
      /// The refresh lock is being acquired.
      ///
      /// Valid transitions from `locking`: `checkingHolder`, `checkingSender`, `ending`, `idle`, `notingReading`, `preparing`,
      /// `signedOut`.
      case locking(Operation)
      /// The lock could not be acquired, for this reason: the vault is read to find out whether its holder may still be waiting
      /// for a response.
      ///
      /// Valid transitions from `checkingHolder`: `ending`, `idle`, `locking`, `pausing`, `signedOut`.
      case checkingHolder(Operation, VaultError)
      /// The rotation key, or the attempt, is being stored, before a byte is sent.
      ///
      /// Valid transitions from `preparing`: `checkingSender`, `ending`, `idle`, `locking`, `notingReading`, `pausing`,
      /// `sending`, `signedOut`.
      case preparing(Operation)
      /// The record of an attempt is being changed: one that was found is read under this boot, or that of this refresh is not made,
      /// because another process has stored a token for its target. Then the refresh continues with what the vault holds.
      ///
      /// Valid transitions from `notingReading`: `checkingSender`, `ending`, `idle`, `locking`, `pausing`, `preparing`,
      /// `signedOut`.
      case notingReading(Operation)
      /// Whether the sender of an attempt that was found has ended is being checked.
      ///
      /// Valid transitions from `checkingSender`: `ending`, `idle`, `pausing`, `preparing`, `signedOut`.
      case checkingSender(Operation)
      /// The request is in flight.
      ///
      /// Valid transitions from `sending`: `checkingRollback`, `checkingSender`, `ending`, `idle`, `locking`, `pausing`,
      /// `preparing`, `rejecting`, `saving`, `signedOut`, `withdrawing`.
      case sending(Operation, RefreshToken, since: Moment)
      /// The new tokens are being stored.
      ///
      /// Valid transitions from `saving`: `checkingSender`, `ending`, `idle`, `locking`, `notingReading`, `preparing`,
      /// `signedOut`.
      case saving(Operation, RefreshedTokens)
      /// The server rejected the token: the end is being stored, if the vault still holds that token.
      ///
      /// Valid transitions from `rejecting`: `checkingSender`, `ending`, `idle`, `locking`, `notingReading`, `preparing`,
      /// `signedOut`.
      case rejecting(Operation, EndReason)
      /// The server has replaced the token: the vault is read to find out whether an older one was restored.
      ///
      /// Valid transitions from `checkingRollback`: `checkingSender`, `ending`, `idle`, `locking`, `preparing`, `signedOut`,
      /// `unavailable`.
      case checkingRollback(Operation, RefreshToken)
      /// Waits for the next attempt.
      ///
      /// Valid transitions from `pausing`: `checkingSender`, `ending`, `idle`, `locking`, `notingReading`, `preparing`,
      /// `signedOut`.
      case pausing
      /// The record of an attempt that no process needs to wait for is being removed; then the refresh ends.
      ///
      /// Valid transitions from `withdrawing`: `ending`, `idle`, `locking`.
      case withdrawing(Operation)

      /// The operation whose answer it waits for.
      var operation: Operation? {
        switch self {
        case .locking(let operation), .checkingHolder(let operation, _), .preparing(let operation),
          .notingReading(let operation), .sending(let operation, _, _), .saving(let operation, _),
          .rejecting(let operation, _), .checkingRollback(let operation, _), .withdrawing(let operation),
          .checkingSender(let operation):
          operation
        case .pausing: nil
        }
      }
    }
  }
}
