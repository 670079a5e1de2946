/// What may go wrong between an app and its session. Each case knows the next step, see ``recovery``.
@nonexhaustive
public enum SessionError: ErrorWithRecovery, Hashable {
  /// Nobody is signed in; the reason says how the last session ended, if one did.
  case signedOut(EndReason?)
  /// The server no longer accepts this session, for the reason it gave. Nothing but signing in again helps.
  case rejected(EndReason)
  /// The access token is over and the server issued no refresh token. Nothing was erased.
  case noRefreshToken
  /// No answer came, or none that decides anything: a time-out, a 5xx, a 429, a page of HTML. The tokens are kept; the same
  /// call may work later, at the earliest after `retryAfter`.
  case unreachable(retryAfter: Duration?)
  /// The store that keeps the session cannot be used now. Nothing was erased.
  case storage(VaultTrouble)
  /// The store went back in time (a restored back-up): the server has moved on. Nothing was erased.
  case rolledBack
  /// The API refuses an access token that the server minted just now: a question for the API, not for the session.
  case tokenRefused
  /// The server refused the sign-in or the request, with its own short code, such as `wrong_credentials`.
  case refused(code: String, detail: String?)
  /// The server does not speak the protocol that was expected.
  case invalidAnswer(String)
  /// The backend does not offer this; the text says what.
  case unsupported(String)
  /// The person at the device was not shown to be there, for this reason. Nothing was erased.
  case presence(PresenceError)
  /// The waiting task was cancelled, or a newer sign-in or a sign-out took this one's place.
  case cancelled

  /// What an app can offer: a button, a hint, a wait.
  public var recovery: Recovery {
    switch self {
    case .signedOut, .rejected, .noRefreshToken, .rolledBack: .signIn
    case .unreachable(let delay): .retry(after: delay)
    case .storage(.locked): .unlockDevice
    case .storage(.corrupt): .signIn
    case .storage(.unavailable): .retry(after: nil)
    case .presence(let error): error.recovery
    case .tokenRefused, .refused, .invalidAnswer, .unsupported, .cancelled: .none
    }
  }
}

/// An error that knows the next step.
public protocol ErrorWithRecovery: Error {
  /// What an app can offer: a button, a hint, a wait.
  var recovery: Recovery { get }
}

/// The next step after an error.
public enum Recovery: Sendable, Hashable {
  /// Signing in again.
  case signIn
  /// The same call again, not before the delay has passed.
  case retry(after: Duration?)
  /// The device, or its secret store, must be unlocked; the session comes back by itself.
  case unlockDevice
  /// Showing that somebody is there: the same call again asks for it.
  case confirmPresence
  /// Nothing that the session can offer.
  case none

  /// The recovery of any error: of a ``ErrorWithRecovery`` its own, of a cancellation and of anything else ``none``. For
  /// plain closures, where typed throws are lost.
  public init(_ error: any Error) {
    self = (error as? any ErrorWithRecovery)?.recovery ?? .none
  }
}
