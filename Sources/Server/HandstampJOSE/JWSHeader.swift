#if JOSE
import HandstampSupport

/// The header of a signed object (RFC 7515 section 4).
package struct JWSHeader: Sendable, Hashable {
  package let algorithm: JWSAlgorithm
  package let keyID: String?
  package let type: String?
  /// The signer's key, if the kind of object has it in its header.
  let key: JWSPublicKey?

  /// Parameters that name a key, or change how the object is read. An unknown extension must not be ignored (section 4.1.11), and
  /// a key that the signer names proves nothing, except where an object is about possessing that very key.
  private static let refused = ["crit", "b64", "enc", "zip", "jku", "x5u", "x5c"]

  /// Reads a header. `nil` for another algorithm, and for parameters that are refused.
  ///
  /// - Parameter hasKey: whether the header must contain the signer's key, as a proof of possession does. Others must not.
  init?(_ encoded: ArraySlice<UInt8>, hasKey: Bool = false) {
    guard let bytes = Base64URL.decode(encoded), let json = JSONValue(bytes),
      let algorithm = json["alg"]?.string.flatMap({ JWSAlgorithm(rawValue: $0) }),
      JWSHeader.refused.allSatisfy({ json[$0] == nil }), (json["jwk"] != nil) == hasKey
    else { return nil }
    let (kid, typ) = (json["kid"], json["typ"])
    guard kid == nil || kid?.string != nil, typ == nil || typ?.string != nil else { return nil }
    let key = json["jwk"].flatMap { JWK($0) }?.key
    guard !hasKey || key?.algorithm == algorithm else { return nil }
    self.algorithm = algorithm
    self.key = key
    keyID = kid?.string
    type = typ?.string
  }
}

/// A signature algorithm (RFC 7518 section 3.1). There are only these two: every key belongs to one of them, and a signature
/// counts only if its header names the algorithm of the key. So `none`, HMAC with a public key as the secret, and whatever else
/// a header may say, cannot be expressed.
package enum JWSAlgorithm: String, Sendable, Hashable, CaseIterable {
  /// ECDSA with P-256 and SHA-256.
  case es256 = "ES256"
  /// RSASSA-PKCS1-v1_5 with SHA-256, which RFC 9068 section 2.1 demands of servers.
  case rs256 = "RS256"
}
#endif
