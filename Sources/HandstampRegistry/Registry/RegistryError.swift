/// Why the registry has no answer, or refuses. None of these says that a session is over.
public enum RegistryError: Error, Sendable, Hashable {
  /// The store cannot be used now, or too many write to one row at once: 503. The text names the cause.
  case unavailable(String)
  /// The token names a master key that this server was not given: 503, and a word to the operator.
  case unknownKey(KeyID)
  /// The account changed since it was read: read it, and check the password, again.
  case accountChanged
  /// The account is closed.
  case accountClosed
  /// There is no such account, or no such session of this account.
  case missing
  /// The secret of a mail is unknown, was used, is over, or a later one took its place.
  case linkInvalid
  /// The account is none of a guest's, or has become a full one meanwhile.
  case notGuest
  /// The value was seen before: somebody sends a sign-in of another provider a second time.
  case nonceUsed
  /// The address belongs to an account.
  case emailTaken
}

extension RegistryError {
  /// Trouble of the store is passed on; an answer that the caller of the store should have dealt with counts as trouble.
  init(_ error: RegistryStoreError) {
    self =
      switch error {
      case .unavailable(let cause): .unavailable(cause)
      case .exists, .changed, .missing: .unavailable("the store's answer makes no sense: \(error)")
      }
  }
}
