/// A failure or refusal of the registry. None of them means that a session has ended.
public enum RegistryError: Error, Sendable, Hashable {
  /// The store is unavailable, or there are too many concurrent writes to one row: 503. The text names the cause.
  case unavailable(String)
  /// The token names a master key that this server does not have: 503, and the operator has to be notified.
  case unknownKey(KeyID)
  /// The account has changed since it was read: read it and check the password again.
  case accountChanged
  /// The account is closed.
  case accountClosed
  /// The account does not exist, or does not have this session.
  case notFound
  /// The one-time token is unknown, used, expired, or replaced by a later one.
  case oneTimeTokenInvalid
  /// The account is not a guest account, or no longer.
  case notGuest
  /// The nonce was used before: another provider's sign-in was sent a second time.
  case nonceUsed
  /// An account already uses the address.
  case emailTaken
  /// An account already has the identity at another provider.
  case identityTaken
  /// A session that the same key began was used, has ended, or was begun by another request: sign in again with another key.
  case keyUsed
  /// The provider that the user has signed in with has announced the end of that sign-in, or has disabled the user: sign in there
  /// again.
  case upstreamEnded
}

extension RegistryError {
  /// Passes on an unavailable store. Other results mean what the caller says, or count as unavailable: the caller should have handled
  /// them.
  init(
    _ error: RegistryStoreError, exists: RegistryError? = nil, changed: RegistryError? = nil,
    missing: RegistryError? = nil
  ) {
    let meaning: RegistryError? =
      switch error {
      case .unavailable(let cause): .unavailable(cause)
      case .alreadyExists: exists
      case .conflict: changed
      case .notFound: missing
      }
    self = meaning ?? .unavailable("unexpected result from the store: \(error)")
  }
}
