#if Verifier
import HandstampCore
import HandstampJOSE
import HandstampSupport

/// Checks proofs of possession at an API (RFC 9449 sections 4.3 and 7).
///
/// It gives out no nonces: they would have to be shared by all servers of an API. Instead a proof is good for a short time.
final class ProofCheck: Sendable {
  /// How many proofs of a key are remembered: more than a client can use in the life of a proof without attracting notice.
  private static let perKey = 4096

  private let life: Duration
  private let leeway: Duration
  private let used: Locked<ProofMemory>

  init(life: Duration, leeway: Duration) {
    self.life = life
    self.leeway = leeway
    used = Locked(ProofMemory(life: life + leeway * 2 + .seconds(1), perKey: ProofCheck.perKey))
  }

  /// Requires a proof of the key with that thumbprint for this request, and remembers it. The token must be genuine: only then the
  /// proof is worth remembering.
  func check(
    _ request: AccessRequest, token: Substring, thumbprint: String, at now: UnixTime
  ) throws(AccessError) {
    guard request.proofs.count == 1 else { throw .proofInvalid(.missing) }
    guard let proof = PossessionProof(request.proofs[0]) else { throw .proofInvalid(.malformed) }
    guard proof.thumbprint == thumbprint else { throw .proofInvalid(.otherKey) }
    guard proof.isFor(request.method, request.url), proof.isBound(to: token) else { throw .proofInvalid(.otherRequest) }
    let age = now.since(proof.madeAt)
    guard age <= life + leeway, age >= .zero - leeway else { throw .proofInvalid(.time) }
    guard used.withLock({ $0.insert(proof.id, of: thumbprint, at: now) }) else { throw .proofInvalid(.replayed) }
  }
}
#endif
