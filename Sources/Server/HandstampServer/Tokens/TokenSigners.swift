#if Server
import HandstampJOSE
import HandstampRegistry
import HandstampSupport

/// The signing keys, each with the encoded header of the tokens of one type that it signs.
///
/// A header is accepted only if it is, byte for byte, one that this server writes. That rules out `none`, keys inside the header,
/// other types of tokens, and alternative spellings of a token.
struct TokenSigners: Sendable {
  private struct Signer: Sendable {
    let key: JWSPrivateKey
    let header: [UInt8]
  }

  private let all: [Signer]
  /// The newest of each algorithm.
  private let current: [JWSAlgorithm: Signer]

  /// - Parameter type: the `typ` of the tokens, such as `at+jwt`.
  init(_ keys: SigningKeys, type: String) {
    all = keys.keys.map { Signer(key: $0, header: CompactJWS.header(for: $0.publicKey, type: type)) }
    current = Dictionary(all.map { ($0.key.algorithm, $0) }) { newest, _ in newest }
  }

  /// Returns the token with these claims.
  ///
  /// - Throws: ``RegistryError/unavailable(_:)`` if it cannot be signed.
  func token(_ claims: JSONText, signedWith algorithm: SigningKeys.Algorithm) throws(RegistryError) -> String {
    guard let signer = current[algorithm.jws],
      let token = CompactJWS.signed(claims.finished, under: signer.header, by: signer.key)
    else { throw .unavailable("signing failed") }
    return String(decoding: token, as: UTF8.self)
  }

  /// Returns the claims of a token; `nil` if none of the keys has signed it. The signature is verified before the claims are parsed.
  func claims(of token: Substring) -> JSONValue? {
    guard let token = CompactJWS(Array(token.utf8)), let signer = all.first(where: { token.hasHeader($0.header) }),
      let payload = token.payload(under: signer.header, signedBy: signer.key.publicKey)
    else { return nil }
    return JSONValue(payload)
  }
}
#endif
