public import HandstampCore

/// What may go wrong with a passphrase. Nothing is ever erased because of it.
@nonexhaustive
public enum PassphraseError: ErrorWithRecovery, Hashable {
  /// It is not the one that was set.
  case wrong
  /// Too many were wrong; the next one is looked at after that time.
  case lockedOut(retryAfter: Duration)
  /// None has been set yet.
  case notSet
  /// One has been set already, here or by another process.
  case alreadySet
  /// Shorter than that many characters.
  case tooShort(minimum: Int)
  /// It has control characters in it, or more than 1024 bytes.
  case unusable
  /// The file that holds the key was changed or cut. A back-up of it, or of an older one with its passphrase, opens the
  /// vaults again.
  case damaged
  /// There are vaults here whose key is kept elsewhere: a new one could not open them.
  case otherKey
  /// The files cannot be read or written now, for this reason.
  case storage(VaultTrouble)

  public var recovery: Recovery {
    switch self {
    case .wrong: .confirmPresence
    case .lockedOut(let delay): .retry(after: delay)
    case .storage: .retry(after: nil)
    case .notSet, .alreadySet, .tooShort, .unusable, .damaged, .otherKey: .none
    }
  }
}
