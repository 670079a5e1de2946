#if Server
import Crypto
import HandstampCore
import HandstampJOSE
import HandstampRegistry
import HandstampSupport

/// Verifies the identity tokens that Apple issues to apps (OpenID Connect Core section 3.1.3.7). Only RS256 is accepted.
struct IdentityTokens: Sendable {
  /// The claims of a genuine token.
  struct Claims: Sendable, Hashable {
    /// The user. Never the email address, which can be reassigned.
    var identity: ExternalIdentity
    /// The value that makes the sign-in unique.
    var nonce: String
    var expiresAt: UnixTime
  }

  /// The accepted lengths of a nonce. Shorter ones could be guessed.
  static let nonceLengths = 16...256

  private let apple: AppleSignIn
  private let keys: KeySet

  init(_ apple: AppleSignIn, now: @escaping @Sendable () -> UnixTime) {
    self.apple = apple
    keys = KeySet(url: apple.keysURL, transport: apple.transport, now: now)
  }

  /// Returns the claims of `token` if it is genuine, valid at `now`, issued for one of the configured apps, and was requested
  /// with `nonce`: the token contains its SHA-256 in hexadecimal. Before the signature is verified, only the header is
  /// parsed.
  func verify(_ token: Secret, nonce: String, at now: UnixTime) async throws(IdentityTokenFault) -> Claims {
    guard let token = CompactJWS(token.withExposedBytes { Array($0) }), let kid = token.keyID else { throw .invalid }
    guard let key = try await keys.key(named: kid), let verified = token.payload(signedBy: key),
      let payload = JSONValue(verified.payload).flatMap(Payload.init)
    else { throw .invalid }
    let end = UnixTime(seconds: payload.exp)
    let hash = Hexadecimal.text(SHA256.hash(data: Array(nonce.utf8)))
    guard payload.iss == apple.issuer, apple.clientIDs.contains(payload.aud), now < end,
      IdentityTokens.nonceLengths.contains(nonce.utf8.count), payload.nonce == hash,
      (1...IdentityTokens.longestSubject).contains(payload.sub.utf8.count)
    else { throw .invalid }
    return Claims(
      identity: ExternalIdentity(issuer: payload.iss, subject: payload.sub), nonce: hash, expiresAt: end)
  }

  /// Maximum length of a subject, in bytes (OpenID Connect Core section 2).
  private static let longestSubject = 255

  private struct Payload {
    var iss, aud, sub, nonce: String
    var exp: Int64

    init?(_ json: JSONValue) {
      guard let iss = json["iss"]?.string, let aud = json["aud"]?.string, let sub = json["sub"]?.string,
        let nonce = json["nonce"]?.string, let exp = json["exp"]?.integer
      else { return nil }
      (self.iss, self.aud, self.sub, self.nonce, self.exp) = (iss, aud, sub, nonce, exp)
    }
  }
}
#endif
