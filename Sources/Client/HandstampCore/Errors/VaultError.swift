/// Why a vault could not be read or written. The vault stays as it was, unless a case says otherwise.
///
/// Unless a case says otherwise, a sign-in throws ``SessionError/storage(_:)`` with it, and a sign-out takes effect in the
/// program, reports it as `SignOutReport.storageError`, and is written later, while the program runs.
///
/// The text of a case is for users and logs: it names the file, the process or the system's error, never a secret, and may
/// change between releases.
@nonexhaustive
public enum VaultError: Error, Sendable, Hashable {
  /// The device or its secret store is locked.
  case locked
  /// There is no space left for a write: a full disk, a quota, a full keychain. A sign-out removes the stored session, so that
  /// no secret remains, even if its end cannot be stored; its revocation is then retried only while the program runs.
  case full(String)
  /// The program lacks permission to read or write: file modes and owners, a read-only disk, a missing entitlement. A key file
  /// that other users can read, or a vault folder that they can write to, is refused as well.
  case permissions(String)
  /// Another version of the program, usually a newer one, wrote the vault. Neither a sign-in nor a sign-out changes it.
  case newerFormat(String)
  /// The key that opens the vault is missing, damaged, or belongs to another vault. Neither a sign-in nor a sign-out changes
  /// the vault.
  case wrongKey(String)
  /// There is no passphrase to seal a new key with, or it cannot be used: it has fewer than 8 characters, a control character,
  /// or more than 1024 bytes. Only the first sign-in can fail with it, which creates the key; a sign-out has nothing to erase
  /// then.
  case passphrase(String)
  /// The stored bytes are not a valid vault. The next sign-in sets them aside and takes their place; a sign-out removes them,
  /// and those set aside earlier. Any other write fails. The session in them is not revoked at the server.
  case corrupt
  /// The vault holds the session of another server, whose URL the text gives. It is neither sent to this one nor erased, and no
  /// session can begin in its place: `earlier:` says that both are one server, and a sign-out ends it.
  case otherServer(String)
  /// The vault is unavailable for another reason: an I/O error, an unmounted disk, a lock held by another process. The text
  /// says which.
  case unavailable(String)

  /// The associated text; `nil` for ``locked`` and ``corrupt``.
  public var detail: String? {
    switch self {
    case .locked, .corrupt: nil
    case .full(let text), .permissions(let text), .newerFormat(let text), .wrongKey(let text), .passphrase(let text),
      .otherServer(let text), .unavailable(let text):
      text
    }
  }
}

extension VaultError: HandstampError {
  public var code: String {
    switch self {
    case .locked: "storage_locked"
    case .full: "storage_full"
    case .permissions: "storage_permissions"
    case .newerFormat: "storage_newer_format"
    case .wrongKey: "storage_wrong_key"
    case .passphrase: "storage_passphrase"
    case .corrupt: "storage_corrupt"
    case .otherServer: "storage_other_server"
    case .unavailable: "storage_unavailable"
    }
  }

  public var recovery: Recovery? {
    switch self {
    case .locked: .unlockDevice
    case .full: .freeStorage
    case .permissions: .grantAccess
    case .newerFormat: .updateApp
    case .wrongKey, .passphrase: .restoreKey
    case .corrupt: .signIn
    case .otherServer: .fixConfiguration
    case .unavailable: .retry(after: nil)
    }
  }
}

extension VaultError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .locked: "the device or its secret store is locked"
    case .corrupt: "the stored session is damaged"
    case .otherServer(let server): "the stored session belongs to another server, \(server)"
    case .full(let text), .permissions(let text), .newerFormat(let text), .wrongKey(let text), .passphrase(let text),
      .unavailable(let text):
      text
    }
  }

  /// The same error with `fact` appended to its text, if it has one.
  package func adding(_ fact: String) -> VaultError {
    switch self {
    case .locked, .corrupt: self
    case .full(let text): .full("\(text); \(fact)")
    case .permissions(let text): .permissions("\(text); \(fact)")
    case .newerFormat(let text): .newerFormat("\(text); \(fact)")
    case .wrongKey(let text): .wrongKey("\(text); \(fact)")
    case .passphrase(let text): .passphrase("\(text); \(fact)")
    case .otherServer: self
    case .unavailable(let text): .unavailable("\(text); \(fact)")
    }
  }
}
