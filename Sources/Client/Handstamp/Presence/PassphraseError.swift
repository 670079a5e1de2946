public import HandstampCore

/// A passphrase that was not accepted or could not be checked. None of these errors erases data.
@nonexhaustive
public enum PassphraseError: HandstampError, Hashable {
  /// The passphrase is not the one that was set.
  case wrong
  /// Too many wrong passphrases in a row; the next attempt is allowed after this time.
  case lockedOut(retryAfter: Duration)
  /// No passphrase has been set yet.
  case notSet
  /// A passphrase is already set, by this process or another.
  case alreadySet
  /// The passphrase has fewer characters than this minimum.
  case tooShort(minimum: Int)
  /// The passphrase contains control characters or exceeds 1024 bytes.
  case unusable
  /// The file with the sealed key was changed or truncated. A backup of it, or an older backup with the passphrase of
  /// that time, opens the vaults again.
  case damaged
  /// The key of the existing vaults is stored elsewhere; a new key could not open them.
  case otherKey
  /// The files cannot be read or written now.
  case storage(VaultError)

  public var recovery: Recovery? {
    switch self {
    case .wrong: .confirmPresence
    case .lockedOut(let delay): .retry(after: delay)
    case .storage(let error): error.recovery
    case .damaged, .otherKey: .restoreKey
    case .notSet, .alreadySet, .tooShort, .unusable: nil
    }
  }

  public var code: String {
    switch self {
    case .wrong: "wrong_passphrase"
    case .lockedOut: "passphrase_locked_out"
    case .notSet: "passphrase_not_set"
    case .alreadySet: "passphrase_already_set"
    case .tooShort: "passphrase_too_short"
    case .unusable: "passphrase_invalid"
    case .damaged: "passphrase_file_damaged"
    case .otherKey: "storage_wrong_key"
    case .storage(let error): error.code
    }
  }
}

extension PassphraseError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .wrong: "the passphrase is wrong"
    case .lockedOut: "too many wrong passphrases"
    case .notSet: "no passphrase has been set"
    case .alreadySet: "a passphrase has already been set"
    case .tooShort(let minimum): "a passphrase has at least \(minimum) characters"
    case .unusable: "a passphrase has no control characters, and at most 1024 bytes"
    case .damaged: "the file of the sealed key is damaged"
    case .otherKey: "the key of these vaults is stored elsewhere"
    case .storage(let error): error.description
    }
  }
}
