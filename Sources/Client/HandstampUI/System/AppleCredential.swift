import Crypto
public import HandstampCore
import HandstampSupport

/// Shows Apple's sheet.
public protocol AppleCredentialSource: Sendable {
  /// Returns the result of the sheet. A cancelled task closes the sheet and throws
  /// ``SessionError/cancelled``.
  ///
  /// - Parameter nonce: Apple gets its hash, and the credential has the nonce itself.
  @concurrent func request(_ nonce: AppleNonce) async throws(SessionError) -> AppleCredential
}

extension AppleCredentialSource {
  /// Asks with a new nonce: a stolen identity token is useless without it (OpenID Connect Core section 3.1.2.1).
  public func credential() async throws(SessionError) -> AppleCredential { try await request(AppleNonce()) }
}

/// A nonce for one sign-in with Apple: 32 random bytes.
public struct AppleNonce: Sendable, Hashable {
  /// Base64url without padding, 43 letters: for ``AppleCredential/nonce``.
  public let raw: String
  /// SHA-256 of ``raw``, 64 digits of hexadecimal: the `nonce` of Apple's request.
  public let hash: String

  public init() { self.init(bytes: randomBytes(32)) }

  package init(bytes: [UInt8]) {
    raw = Base64URL.encode(bytes)
    hash = Hexadecimal.text(SHA256.hash(data: Array(raw.utf8)))
  }
}
