#if Programs
import Crypto
import Foundation
import HandstampCore
import HandstampJOSE
import HandstampSupport

/// An assertion, good or bad: of a client about itself, or of a CI about a job.
struct SignedAssertion {
  var key: JWSPrivateKey
  /// Members as JSON text; an empty text removes one.
  var header: [String: String]
  var claims: [String: String]

  init(of client: String, by key: JWSPrivateKey, at now: UnixTime) {
    self.key = key
    header = ["alg": #""\#(key.algorithm.rawValue)""#, "typ": #""JWT""#, "kid": #""\#(key.publicKey.thumbprint)""#]
    claims = [
      "iss": #""\#(client)""#, "sub": #""\#(client)""#, "aud": #""https://id.example.org""#,
      "jti": #""j-\#(UInt64.random(in: 0 ... .max))""#, "iat": "\(now.seconds)", "exp": "\(now.seconds + 60)",
    ]
  }

  func text(_ changes: [String: String] = [:], header other: [String: String] = [:]) -> String {
    let (encoded, payload) = parts(changes, other)
    let signed = CompactJWS.signed(payload, under: Array(encoded.utf8), by: key)
    return String(decoding: signed ?? [], as: UTF8.self)
  }

  /// The assertion with a MAC by a public text in place of a signature: a verifier that lets the header choose accepts it.
  func text(maskedBy secret: String) -> String {
    let (encoded, payload) = parts([:], ["alg": #""HS256""#])
    let signed = encoded + "." + Base64URL.encode(payload)
    let mac = HMAC<SHA256>.authenticationCode(
      for: Array(signed.utf8), using: SymmetricKey(data: Array(secret.utf8)))
    return signed + "." + Base64URL.encode(Array(mac))
  }

  /// The assertion without a signature.
  var unsigned: String {
    let (encoded, payload) = parts([:], ["alg": #""none""#])
    return encoded + "." + Base64URL.encode(payload) + "."
  }

  private func parts(_ changes: [String: String], _ other: [String: String]) -> (header: String, payload: [UInt8]) {
    (
      Base64URL.encode(Array(SignedAssertion.object(header.merging(other) { $1 }).utf8)),
      Array(SignedAssertion.object(claims.merging(changes) { $1 }).utf8)
    )
  }

  private static func object(_ members: [String: String]) -> String {
    "{"
      + members.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }.map { #""\#($0.key)":\#($0.value)"# }
      .joined(separator: ",") + "}"
  }
}

extension JWSPrivateKey {
  /// The public part as the key set of a client, or of an issuer.
  var jwks: String { String(decoding: JWKSet([JWK(publicKey)]).json, as: UTF8.self) }
}
#endif
