#if JOSE
import Crypto
package import HandstampCore
import HandstampSupport

/// A DPoP proof (RFC 9449 section 4.2) whose signature is valid for the key in it. Whether that key is the right one, and the proof
/// recent and new, is for the caller to decide.
package struct PossessionProof: Sendable {
  /// The only algorithm.
  private static let algorithms: Set<JWSAlgorithm> = [.es256]

  /// The thumbprint of its key (RFC 7638).
  package let thumbprint: String
  /// `jti`: at most 256 bytes, never empty.
  package let id: String
  /// `iat`.
  package let madeAt: UnixTime
  package let nonce: String?
  private let method, target: String
  private let tokenHash: String?

  package init?(_ text: String) {
    guard let token = CompactJWS(Array(text.utf8)),
      let proven = token.payload(provingPossessionAs: "dpop+jwt", with: PossessionProof.algorithms),
      let claims = JSONValue(proven.payload), let method = claims["htm"]?.string, let target = claims["htu"]?.string,
      let madeAt = claims["iat"]?.number, abs(madeAt) < 1e12, let id = claims["jti"]?.string, !id.isEmpty,
      id.utf8.count <= 256
    else { return nil }
    let (hash, nonce) = (claims["ath"], claims["nonce"])
    guard hash == nil || hash?.string != nil, nonce == nil || nonce?.string != nil else { return nil }
    (self.method, self.target, self.id) = (method, target, id)
    self.madeAt = UnixTime(milliseconds: Int64(madeAt * 1000))
    (tokenHash, self.nonce) = (hash?.string, nonce?.string)
    thumbprint = proven.key.thumbprint
  }

  /// Returns whether the proof was made for a request with this method to this URL. Ignores query and fragment.
  package func isFor(_ method: String, _ url: String) -> Bool {
    guard self.method == method, let named = WebURL(target), let own = WebURL(url) else { return false }
    return named.origin == own.origin && named.path == own.path
  }

  /// Returns whether the proof was made for this access token.
  package func isBound(to token: some StringProtocol) -> Bool {
    tokenHash == Base64URL.encode(Array(SHA256.hash(data: Array(token.utf8))))
  }
}
#endif
