/// Asks the user at the device to confirm their presence: by fingerprint, face or passphrase.
public protocol UserPresence: Sendable {
  /// Returns when the user has confirmed. One lock never calls it twice at a time. When its task is cancelled, it should
  /// dismiss its prompt and throw ``PresenceError/cancelled``.
  ///
  /// - Parameter reason: the text of the prompt, such as "to show your messages".
  /// - Throws: ``PresenceError``.
  @concurrent func confirm(_ reason: String) async throws(PresenceError)
}

/// How long a presence confirmation lasts.
public enum PresencePolicy: Sendable, Hashable {
  /// The user is never asked.
  case never
  /// For the calls that waited for the confirmation only.
  case perUse
  /// For this long, by a clock that counts sleep and cannot be set.
  case window(Duration)
  /// Until the program exits or the lock is closed.
  case untilExit
}
