import Crypto
public import HandstampCore

/// What Apple's sheet returned.
public struct AppleCredential: Sendable, Hashable {
  /// The identity token, a JWT that the server checks.
  public var idToken: Secret
  /// The person's name; Apple tells it once, at the first sign-in with an app.
  public var name: String?

  public init(idToken: Secret, name: String? = nil) {
    self.idToken = idToken
    self.name = name
  }
}

/// Shows Apple's sheet.
public protocol AppleCredentialSource: Sendable {
  /// Returns what the sheet returned. When its task is cancelled it takes the sheet back, and throws
  /// ``SessionError/cancelled``.
  ///
  /// - Parameter nonceHash: what the request's `nonce` is set to.
  @concurrent func request(nonceHash: String) async throws(SessionError) -> AppleCredential
}

extension AppleCredentialSource {
  /// Asks with a new nonce: Apple gets its SHA-256 in hexadecimal, the server the nonce itself, so that an identity token
  /// that somebody else got hold of is of no use (OpenID Connect Core section 3.1.2.1).
  public func credential() async throws(SessionError) -> (credential: AppleCredential, nonce: String) {
    let nonce = AppleNonce()
    return (try await request(nonceHash: nonce.hash), nonce.raw)
  }
}

/// A nonce for one sign-in with Apple: 32 random bytes.
public struct AppleNonce: Sendable, Hashable {
  /// Base64url without padding, 43 letters: for the server.
  public let raw: String
  /// SHA-256 of ``raw``, 64 digits of hexadecimal: for Apple.
  public let hash: String

  public init() {
    var random = SystemRandomNumberGenerator()
    self.init(bytes: (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) })
  }

  package init(bytes: [UInt8]) {
    raw = Base64URL.encode(bytes)
    let digits = Array("0123456789abcdef".utf8)
    hash = String(
      decoding: SHA256.hash(data: Array(raw.utf8)).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] },
      as: UTF8.self)
  }
}
