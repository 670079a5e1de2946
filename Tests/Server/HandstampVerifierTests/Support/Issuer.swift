#if Programs
import Crypto
import HandstampCore
import HandstampJOSE
import HandstampSupport

@testable import HandstampVerifier

/// Signs access tokens, good and bad ones.
struct Issuer: Sendable {
  static let name = "https://id.example.org"
  static let api = "https://api.example.org"

  var key = JWSPrivateKey.es256()
  let clocks = ManualClocks()

  var keys: String { String(decoding: JWKSet([JWK(key.publicKey)]).json, as: UTF8.self) }

  /// The claims of a good token, as JSON text by name.
  func claims() -> [String: String] {
    let now = clocks.now.seconds
    return [
      "iss": #""\#(Issuer.name)""#, "sub": #""ada""#, "aud": #""\#(Issuer.api)""#, "client_id": #""app""#,
      "exp": "\(now + 600)", "iat": "\(now)", "jti": #""j-\#(UInt64.random(in: 0 ... .max))""#, "sid": #""s1""#,
      "scope": #""read write""#,
    ]
  }

  /// A token whose claims, and members of whose header, can differ; an empty text removes one.
  func token(
    _ changes: [String: String] = [:], header: [String: String] = [:], signedBy signer: JWSPrivateKey? = nil
  ) -> String {
    var head = [
      "alg": #""\#(key.algorithm.rawValue)""#, "typ": #""at+jwt""#, "kid": #""\#(key.publicKey.thumbprint)""#,
    ]
    head.merge(header) { $1 }
    let payload = Issuer.object(claims().merging(changes) { $1 })
    let encoded = Array(Base64URL.encode(Array(Issuer.object(head).utf8)).utf8)
    let signed = CompactJWS.signed(Array(payload.utf8), under: encoded, by: signer ?? key)
    return String(decoding: signed ?? [], as: UTF8.self)
  }

  private static func object(_ members: [String: String]) -> String {
    "{"
      + members.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }.map { #""\#($0.key)":\#($0.value)"# }
      .joined(separator: ",") + "}"
  }

  func configuration(_ change: (inout VerifierConfiguration) -> Void = { _ in }) -> VerifierConfiguration {
    var configuration = VerifierConfiguration(issuer: Issuer.name, audiences: [Issuer.api], keys: .fixed(keys))
    configuration.clock = clocks.clock
    change(&configuration)
    return configuration
  }

  func verifier(
    _ transport: any Transport = ScriptedTransport(), _ change: (inout VerifierConfiguration) -> Void = { _ in }
  ) throws -> TokenVerifier {
    try TokenVerifier(configuration(change), transport: transport)
  }

  /// A proof of possession.
  func proof(
    by holder: JWSPrivateKey, for token: String, method: String = "GET", url: String = api + "/things",
    at time: UnixTime? = nil, id: String = "p-\(UInt64.random(in: 0 ... .max))"
  ) -> String {
    let jwk = String(decoding: JWK(holder.publicKey).json, as: UTF8.self)
    let header = #"{"typ":"dpop+jwt","alg":"ES256","jwk":\#(jwk)}"#
    let hash = Base64URL.encode(Array(SHA256.hash(data: Array(token.utf8))))
    let iat = (time ?? clocks.now).seconds
    let claims = #"{"htm":"\#(method)","htu":"\#(url)","iat":\#(iat),"jti":"\#(id)","ath":"\#(hash)"}"#
    let encoded = Array(Base64URL.encode(Array(header.utf8)).utf8)
    let signed = CompactJWS.signed(Array(claims.utf8), under: encoded, by: holder)
    return String(decoding: signed ?? [], as: UTF8.self)
  }
}
#endif
