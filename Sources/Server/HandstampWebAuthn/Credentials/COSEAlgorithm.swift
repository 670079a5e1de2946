#if JOSE
/// The signature algorithms of passkeys, with their numbers in IANA's registry of COSE algorithms.
package enum COSEAlgorithm: Int64, Sendable, Hashable, CaseIterable {
  /// ECDSA with P-256 and SHA-256 (RFC 9053 section 2.1): nearly every passkey.
  case es256 = -7
  /// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8812 section 2): Windows Hello on computers whose TPM has no elliptic curves.
  case rs256 = -257
}
#endif
