/// Why the user's presence was not confirmed.
@nonexhaustive
public enum PresenceError: HandstampError, Hashable {
  /// The user declined, or failed the check.
  case declined
  /// The device cannot ask now, or has no means to ask; the text gives the reason, without secrets.
  case unavailable(String)
  /// Too many attempts failed; the next one is accepted after this delay.
  case lockedOut(retryAfter: Duration)
  /// No secret is stored that the user's presence could release: sign in by other means, and store it again.
  case noSecret
  /// The prompt was withdrawn before the user answered.
  case cancelled

  public var code: String {
    switch self {
    case .declined: "presence_declined"
    case .unavailable: "presence_unavailable"
    case .lockedOut: "presence_locked_out"
    case .noSecret: "presence_no_secret"
    case .cancelled: "presence_cancelled"
    }
  }

  public var recovery: Recovery? {
    switch self {
    case .declined, .cancelled: .confirmPresence
    case .lockedOut(let delay): .retry(after: delay)
    case .noSecret: .signIn
    case .unavailable: nil
    }
  }
}

extension PresenceError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .declined: "the user's presence was not confirmed"
    case .unavailable(let text): "the user's presence cannot be checked: \(text)"
    case .lockedOut: "too many failed attempts to confirm the user's presence"
    case .noSecret: "no secret is stored for sign-in by presence"
    case .cancelled: "the presence check was cancelled"
    }
  }
}
