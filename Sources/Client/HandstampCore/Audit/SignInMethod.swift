import HandstampSupport

/// How a user signs in. Each path to a session names one, and the audit log records it.
@nonexhaustive
public enum SignInMethod: String, Sendable, Hashable, CaseIterable {
  /// An address or a user name, and a password.
  case password
  /// The account was created, with or without a confirmation by mail.
  case signUp = "sign_up"
  /// A guest account became a full one, under the same ID.
  case upgrade
  /// A new guest account.
  case guest
  /// Sign in with Apple.
  case apple
  case passkey
  /// A secret that the device released after the user had confirmed their presence.
  case biometric
  /// A page in a browser, as OAuth servers have it.
  case browser
  /// A code that was entered on another device.
  case deviceCode = "device_code"
  /// The form of a site that keeps its sessions in cookies.
  case form
  /// A token that the user was given.
  case token
  /// Without a question: the session came from an earlier place on this device, or from a former system.
  case moved
  /// Another method: a closure of the app's own that named none, or one that only a newer version knows.
  case other

  /// Whether it continues the account in use, so that the account is known although the sign-in fails.
  package var continuesAccount: Bool {
    switch self {
    case .upgrade: true
    case .password, .signUp, .guest, .apple, .passkey, .biometric, .browser, .deviceCode, .form, .token, .moved, .other:
      false
    }
  }
}

/// How a user signs in, and as whom.
package struct SignInClaim: Sendable, Hashable {
  package let method: SignInMethod
  /// The address that was typed; `nil` for anything that has not the form of one.
  package let address: String?

  package init(_ method: SignInMethod, as identifier: String? = nil) {
    self.method = method
    address = identifier.flatMap { SignInClaim.isAddress($0) ? $0 : nil }
  }

  /// Whether a text can only be an address: `name@host.domain`, in ASCII, of at most 254 bytes (RFC 5321 section 4.5.3.1). What a user
  /// types in its place may be a password.
  private static func isAddress(_ text: String) -> Bool {
    let parts = text.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
    guard text.utf8.count <= 254, parts.count == 2, (1...64).contains(parts[0].count) else { return false }
    let labels = parts[1].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard labels.count > 1, let last = labels.last, last.count > 1, last.allSatisfy(\.isLetter) else { return false }
    return parts[0].allSatisfy { $0.isAlphanumeric || "._+-".utf8.contains($0) }
      && labels.allSatisfy { label in
        !label.isEmpty && label.allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: "-") }
      }
  }
}
