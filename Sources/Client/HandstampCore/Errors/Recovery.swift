/// An error with a stable code, a readable description and the recovery step that can help.
public protocol HandstampError: Error, Sendable, CustomStringConvertible {
  /// A machine-readable code in `snake_case`, stable between releases. A code that a server sent is passed on as it is.
  var code: String { get }
  /// The step that an app can offer: a button, a hint, a wait; `nil` if there is none.
  var recovery: Recovery? { get }
}

/// The step that can help after an error.
@nonexhaustive
public enum Recovery: Sendable, Hashable {
  /// Sign in again.
  case signIn
  /// Repeat the call, after the delay at the earliest; `nil` if no delay is known.
  case retry(after: Duration?)
  /// Unlock the device or its secret store. The session resumes when its vault is read again: at the next request for a token,
  /// when the vault reports the unlocking, as one with a passphrase does, or when the app calls
  /// `SessionController.retryPendingWork()`, as `SessionLifeCycle` does for it.
  case unlockDevice
  /// Confirm the user's presence: repeating the call asks for it.
  case confirmPresence
  /// Free storage, then repeat the call.
  case freeStorage
  /// Give the program access to its files or its keychain group.
  case grantAccess
  /// Update the app: a newer version wrote the data.
  case updateApp
  /// Restore the key, or the passphrase, that opens the vault.
  case restoreKey
  /// Correct the configuration of the client or the server: retrying does not help.
  case fixConfiguration
  /// Set the device's clock.
  case setClock

  /// The recovery of any error; `nil` if it has none, or is not a ``HandstampError``. For closures with untyped errors.
  public init?(_ error: any Error) {
    guard let recovery = (error as? any HandstampError)?.recovery else { return nil }
    self = recovery
  }
}

extension Recovery: CustomStringConvertible {
  /// The step in a few words, such as `sign in`.
  public var description: String {
    switch self {
    case .signIn: "sign in"
    case .retry(nil): "try again later"
    case .retry(let delay?): "try again in \(delay)"
    case .unlockDevice: "unlock the device"
    case .confirmPresence: "confirm presence"
    case .freeStorage: "free some storage"
    case .grantAccess: "give access to the files"
    case .updateApp: "update the app"
    case .restoreKey: "restore the key"
    case .fixConfiguration: "correct the configuration"
    case .setClock: "set the clock"
    }
  }
}
