/// Asks the person at the device to show that they are there: a finger, a face, a passphrase.
public protocol UserPresence: Sendable {
  /// Returns when they did. It is never called twice at a time by one lock. When its task is cancelled, nobody waits for
  /// the answer any more: it should take its question back, and throw ``PresenceError/cancelled``.
  ///
  /// - Parameter reason: what to tell them, such as "to show your messages".
  @concurrent func confirm(_ reason: String) async throws(PresenceError)
}

/// Why nobody was shown to be there.
public enum PresenceError: ErrorWithRecovery, Hashable {
  /// They said no, or it was not them.
  case declined
  /// The device cannot ask now, or has nothing to ask for; the text says what, without secrets.
  case unavailable(String)
  /// Too many attempts failed; asking again makes sense after that time.
  case lockedOut(retryAfter: Duration)
  /// The question was taken back.
  case cancelled

  public var recovery: Recovery {
    switch self {
    case .declined, .cancelled: .confirmPresence
    case .lockedOut(let delay): .retry(after: delay)
    case .unavailable: .none
    }
  }
}

/// How long it holds that somebody was there.
public enum PresencePolicy: Sendable, Hashable {
  /// Nobody is asked.
  case never
  /// For the calls that waited for the answer, and no other.
  case perUse
  /// For that long, by a clock that counts sleep and that nobody can set.
  case window(Duration)
  /// Until the program ends or the lock is closed.
  case untilExit
}
