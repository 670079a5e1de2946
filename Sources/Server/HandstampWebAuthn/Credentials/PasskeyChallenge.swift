#if JOSE
import HandstampSupport

/// The bytes that an authenticator signs to show that its answer is new: 32 random ones, for one ceremony only (WebAuthn
/// Level 2 section 13.4.3). The server remembers them until they are used, or for some minutes; the browser sees them.
package struct PasskeyChallenge: Sendable, Hashable {
  package static let size = 32

  package let bytes: [UInt8]

  /// Returns `nil` if there are not ``size`` bytes.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == PasskeyChallenge.size else { return nil }
    self.bytes = bytes
  }

  /// The challenge in base64url, 43 characters.
  package var text: String { Base64URL.encode(bytes) }
}
#endif
