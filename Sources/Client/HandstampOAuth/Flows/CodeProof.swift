import Crypto
import HandstampCore
import HandstampSupport

/// A proof key for one authorization request (RFC 7636): the challenge goes through the browser, the verifier never does.
struct CodeProof: Sendable {
  /// 43 characters: 32 random bytes.
  let verifier: Secret

  init() { verifier = Secret(Base64URL.encode(randomBytes(32))) }

  init(verifier: Secret) { self.verifier = verifier }

  /// `S256`: the verifier's SHA-256.
  var challenge: String {
    verifier.withExposedBytes { Base64URL.encode(SHA256.hash(data: $0)) }
  }
}
