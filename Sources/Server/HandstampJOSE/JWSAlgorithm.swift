#if JOSE
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
