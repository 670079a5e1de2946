#if Programs
import Crypto
import Foundation
import HandstampCore
import HandstampSupport

@testable import HandstampServer

/// Makes proofs, valid and invalid ones.
struct DPoPProof {
  var key = P256.Signing.PrivateKey()
  var typ = "dpop+jwt"
  var alg = "ES256"
  var method = "POST"
  var url = "https://id.example.org/oauth/token"
  var at: UnixTime
  var nonce: String?
  var id = "\(UInt64.random(in: 0 ... .max))"
  var token: String?
  /// The signing key, if it differs from the one in the header.
  var signedBy: P256.Signing.PrivateKey?
  /// Whether the header reveals the private part.
  var givesKeyAway = false

  init(at time: UnixTime, nonce: String?, _ change: (inout DPoPProof) -> Void = { _ in }) {
    at = time
    self.nonce = nonce
    change(&self)
  }

  var text: String {
    let point = Array(key.publicKey.rawRepresentation)
    let (x, y) = (Base64URL.encode(point.prefix(32)), Base64URL.encode(point.suffix(32)))
    let d = givesKeyAway ? #","d":"\#(Base64URL.encode(Array(key.rawRepresentation)))""# : ""
    let header = #"{"typ":"\#(typ)","alg":"\#(alg)","jwk":{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)"\#(d)}}"#
    var claims = #"{"htm":"\#(method)","htu":"\#(url)","iat":\#(at.seconds),"jti":"\#(id)""#
    if let nonce { claims += #","nonce":"\#(nonce)""# }
    if let token { claims += #","ath":"\#(Base64URL.encode(SHA256.hash(data: Array(token.utf8))))""# }
    let body = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array((claims + "}").utf8))
    let signature = try? (signedBy ?? key).signature(for: Array(body.utf8)).rawRepresentation
    return body + "." + Base64URL.encode(Array(signature ?? Data()))
  }
}
#endif
