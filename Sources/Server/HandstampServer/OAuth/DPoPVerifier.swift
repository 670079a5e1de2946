#if Server
import Crypto
import Foundation
import HandstampCore
import HandstampJOSE
import HandstampSupport
import HTTPTypes
import Hummingbird

/// A proof of possession that is not accepted.
enum ProofError: Error, Hashable {
  /// There is none, or not one for this request.
  case invalid
  /// It is valid, but has no nonce, or an expired one. The client must repeat the request with this one.
  case nonceNeeded(String)
}

/// Checks DPoP proofs of possession (RFC 9449 section 4.3).
///
/// Every proof must contain a nonce of this server that is at most 10 min old. The nonce has the server's time, so that the
/// client's does not count, however wrong its clock is (section 11.1). Nonces are derived from the signing key, so that servers
/// accept each other's; the proofs used are remembered by each server separately, see ``ProofMemory``.
///
/// Anyone can make proofs with a key of their own. So a proof is checked first, and remembered only once the token or grant that
/// it came with is known to be genuine, and bound to its key.
final class DPoPVerifier: Sendable {
  /// A valid proof.
  struct Proof: Sendable, Hashable {
    /// The thumbprint of its key.
    let thumbprint: String
    fileprivate let id: String
  }

  /// How long a proof can be valid at most: as long as its nonce.
  static let life = Duration.seconds(span * 2 + 1)
  /// How many used proofs of a key are remembered.
  static let perKey = 128
  /// Length of a nonce's span, in seconds. A nonce is valid in the span in which it was made, and in the next one.
  private static let span: Int64 = 300

  /// The public address that request paths are appended to.
  private let address: String
  private let key: SymmetricKey
  private let used: Locked<ProofMemory>

  /// - Parameter previous: a verifier whose memory of used proofs continues in this one.
  init(address: String, keys: SigningKeys, continuing previous: DPoPVerifier? = nil) {
    self.address = address
    used = previous?.used ?? Locked(ProofMemory(life: DPoPVerifier.life, perKey: DPoPVerifier.perKey))
    key = SymmetricKey(data: keys.derived("handstamp dpop nonce"))
  }

  /// Returns the proof of a request, or `nil` for a request without one, unless it needs one. The caller decides whether its key
  /// is the right one, and then calls ``use(_:at:)``.
  ///
  /// - Parameter token: the access token that the proof must be bound to; `nil` where tokens are issued.
  func check(_ request: Request, token: Substring?, at now: UnixTime) throws(ProofError) -> Proof? {
    let fields = request.headers[values: .dpop]
    guard !fields.isEmpty else {
      guard token == nil else { throw .invalid }
      return nil
    }
    guard fields.count == 1, let proof = PossessionProof(fields[0]) else { throw .invalid }
    guard proof.isFor(request.method.rawValue, address + request.uri.path) else { throw .invalid }
    guard token.map({ proof.isBound(to: $0) }) ?? true else { throw .invalid }
    guard let nonce = proof.nonce, isGood(nonce, at: now) else { throw .nonceNeeded(self.nonce(at: now)) }
    let valid = Proof(thumbprint: proof.thumbprint, id: proof.id)
    guard !used.withLock({ $0.contains(valid.id, of: valid.thumbprint) }) else { throw .invalid }
    return valid
  }

  /// Remembers a proof whose token or grant is genuine. Returns `false` if another request has used it since it was checked.
  @discardableResult
  func use(_ proof: Proof, at now: UnixTime) -> Bool {
    used.withLock { $0.insert(proof.id, of: proof.thumbprint, at: now) }
  }

  /// Returns the current nonce.
  func nonce(at now: UnixTime) -> String { nonce(ofSpan: now.seconds / DPoPVerifier.span) }

  private func nonce(ofSpan span: Int64) -> String {
    Base64URL.encode(Array(HMAC<SHA256>.authenticationCode(for: Array(String(span).utf8), using: key)).prefix(16))
  }

  private func isGood(_ nonce: String, at now: UnixTime) -> Bool {
    let span = now.seconds / DPoPVerifier.span
    return [span, span - 1].contains { Secret(self.nonce(ofSpan: $0)) == Secret(nonce) }
  }
}
#endif
