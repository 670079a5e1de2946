#if JOSE
import HandstampSupport

/// The name of an account to authenticators: 32 to 64 random bytes that say nothing about the user, because an authenticator
/// gives them out without user verification (WebAuthn Level 2 sections 5.4.3 and 14.6.1). The standard allows fewer, but
/// not more.
package struct UserHandle: Sendable, Hashable {
  package static let sizes = 32...64

  package let bytes: [UInt8]

  /// Returns `nil` if the number of bytes is not one of ``sizes``.
  package init?(_ bytes: [UInt8]) {
    guard UserHandle.sizes.contains(bytes.count) else { return nil }
    self.bytes = bytes
  }

  /// Reads a handle that another system has made: 1 to 64 bytes.
  package init?(foreign bytes: [UInt8]) {
    guard (1...64).contains(bytes.count) else { return nil }
    self.bytes = bytes
  }

  /// The handle in base64url.
  package var text: String { Base64URL.encode(bytes) }
}

/// The user of a new passkey, as the authenticator shows it (WebAuthn Level 2 section 5.4.3).
package struct PasskeyUser: Sendable, Hashable {
  package var handle: UserHandle
  /// The name that tells accounts apart: a user name or an email address.
  package var name: String
  /// The name that the user goes by; may be empty.
  package var displayName: String

  package init(handle: UserHandle, name: String, displayName: String) {
    self.handle = handle
    self.name = name
    self.displayName = displayName
  }
}
#endif
