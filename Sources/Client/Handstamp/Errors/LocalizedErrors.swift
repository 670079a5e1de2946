public import Foundation
public import HandstampCore
import HandstampSupport

/// The `localizedDescription` of every error is a sentence in English. Apps with translations switch over the cases, or use
/// `Wording` of HandstampUI.
extension HandstampError where Self: LocalizedError {
  public var errorDescription: String? {
    let text = description
    return text.prefix(1).uppercased() + text.dropFirst() + (text.hasSuffix(".") ? "" : ".")
  }

  public var recoverySuggestion: String? { recovery?.suggestion }
}

extension SessionError: LocalizedError {}
extension RequestError: LocalizedError {}
extension TransportError: LocalizedError {}
extension VaultError: LocalizedError {}
extension PresenceError: LocalizedError {}
extension RedirectError: LocalizedError {}
extension PassphraseError: LocalizedError {}
extension APIError: LocalizedError {}
extension QueueError: LocalizedError {}

extension Recovery {
  /// The step as a sentence.
  fileprivate var suggestion: String {
    switch self {
    case .signIn: "Sign in again."
    case .retry(nil): "Try again later."
    case .retry(let delay?): "Try again in \(max(1, delay.roundedUpSeconds)) seconds."
    case .unlockDevice: "Unlock the device."
    case .confirmPresence: "Confirm that it's you."
    case .freeStorage: "Free some storage, then try again."
    case .grantAccess: "Give the app access to its files."
    case .updateApp: "Update the app."
    case .restoreKey: "Restore the key or the passphrase of the vault."
    case .fixConfiguration: "Correct the configuration of the client or the server."
    case .setClock: "Set the clock of the device."
    }
  }
}
