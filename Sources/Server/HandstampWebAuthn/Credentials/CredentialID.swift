#if JOSE
import HandstampSupport

/// The ID of a passkey, chosen by its authenticator: 1 to 1023 bytes (WebAuthn Level 3 section 4, _Credential ID_).
package struct CredentialID: Sendable, Hashable {
  package static let sizes = 1...1023

  package let bytes: [UInt8]

  /// Returns `nil` if the number of bytes is not one of ``sizes``.
  package init?(_ bytes: [UInt8]) {
    guard CredentialID.sizes.contains(bytes.count) else { return nil }
    self.bytes = bytes
  }

  /// Reads the ID as it is in JSON: base64url without padding.
  package init?(text: String) {
    guard let bytes = Base64URL.decode(text) else { return nil }
    self.init(bytes)
  }

  /// The ID in base64url.
  package var text: String { Base64URL.encode(bytes) }
}
#endif
