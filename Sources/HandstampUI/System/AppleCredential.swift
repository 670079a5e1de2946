import Crypto
public import HandstampCore
import HandstampSupport

/// The result of Apple's sheet.
public struct AppleCredential: Sendable, Hashable {
  /// The identity token, a JWT that the server checks.
  public var idToken: Secret
  /// The user's name; Apple sends it once, at the first sign-in with an app.
  public var name: String?

  public init(idToken: Secret, name: String? = nil) {
    self.idToken = idToken
    self.name = name
  }
}

/// Shows Apple's sheet.
public protocol AppleCredentialSource: Sendable {
  /// Returns the result of the sheet. A cancelled task closes the sheet and throws
  /// ``SessionError/cancelled``.
  ///
  /// - Parameter nonceHash: the `nonce` of the request.
  @concurrent func request(nonceHash: String) async throws(SessionError) -> AppleCredential
}

extension AppleCredentialSource {
  /// Asks with a new nonce: Apple gets its SHA-256 in hexadecimal, the server the nonce itself, so that a stolen identity token
  /// is useless (OpenID Connect Core section 3.1.2.1).
  public func credential() async throws(SessionError) -> (credential: AppleCredential, nonce: String) {
    let nonce = AppleNonce()
    return (try await request(nonceHash: nonce.hash), nonce.raw)
  }
}

/// A nonce for one sign-in with Apple: 32 random bytes.
package struct AppleNonce: Sendable, Hashable {
  /// Base64url without padding, 43 letters: for the server.
  package let raw: String
  /// SHA-256 of ``raw``, 64 digits of hexadecimal: for Apple.
  package let hash: String

  package init() { self.init(bytes: randomBytes(32)) }

  package init(bytes: [UInt8]) {
    raw = Base64URL.encode(bytes)
    hash = Hexadecimal.text(SHA256.hash(data: Array(raw.utf8)))
  }
}
