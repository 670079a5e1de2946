#if Server
import Crypto
import Foundation
import HandstampCore
import HandstampJOSE
import HandstampSupport
import HTTPTypes
import Hummingbird

/// Checks DPoP proofs of possession (RFC 9449 section 4.3).
///
/// Every proof must contain a nonce of this server that is at most 10 min old, and a time that is within 5 min of the
/// server's. Proofs are remembered for as long as they could be replayed. Nonces are derived from the signing key, so that
/// servers accept each other's; the proofs seen are remembered by each server separately.
final class ProofDesk: Sendable {
  enum Fault: Error, Hashable {
    /// There is no proof, or not one for this request.
    case invalid
    /// The proof is valid, but has no nonce, or an expired one. The client must repeat the request with this one.
    case wantsNonce(String)
    /// There is no room to remember more proofs.
    case busy
  }

  /// Maximum difference between a proof's time and the server's.
  static let tolerance = Duration.seconds(300)
  /// Length of a nonce's span, in seconds. A nonce is valid in the span in which it was made, and in the next one.
  private static let span: Int64 = 300
  private static let capacity = 200_000

  /// The public address that request paths are appended to.
  private let address: String
  private let key: SymmetricKey
  private let seen = Locked<(ids: [Data: UnixTime], cleared: UnixTime)>(([:], UnixTime(seconds: 0)))

  init(address: String, keys: SigningKeys) {
    self.address = address
    key = SymmetricKey(data: keys.derived("handstamp dpop nonce"))
  }

  /// Returns the thumbprint of the proof's key, or `nil` for a request without a proof, unless it needs one.
  ///
  /// - Parameter token: the access token that the proof must be bound to; `nil` at the token endpoint.
  func check(_ request: Request, token: Substring?, at time: ServerClock.Reading) throws(Fault) -> String? {
    let now = time.now
    let fields = request.headers[values: .dpop]
    guard !fields.isEmpty else {
      guard token == nil else { throw .invalid }
      return nil
    }
    guard fields.count == 1, let proof = Proof(fields[0]) else { throw .invalid }
    guard proof.method == request.method.rawValue, isThis(proof.target, request.uri.path), !proof.id.isEmpty,
      proof.id.utf8.count <= 256
    else { throw .invalid }
    if let token {
      guard proof.tokenHash == Base64URL.encode(SHA256.hash(data: Array(token.utf8))) else { throw .invalid }
    }
    guard abs(proof.madeAt) < 1e12 else { throw .invalid }
    // While the server's clock is doubted, the client's clock may agree with either time.
    let madeAt = UnixTime(milliseconds: Int64(proof.madeAt * 1000))
    guard ProofDesk.isNear(madeAt, now) || ProofDesk.isNear(madeAt, time.wall) else { throw .invalid }
    guard let nonce = proof.nonce, isGood(nonce, at: now) else { throw .wantsNonce(self.nonce(at: now)) }
    try remember(proof, now: now)
    return proof.thumbprint
  }

  private static func isNear(_ one: UnixTime, _ other: UnixTime) -> Bool {
    let distance = one.since(other)
    return distance <= tolerance && distance >= .zero - tolerance
  }

  /// Returns the current nonce.
  func nonce(at now: UnixTime) -> String { nonce(ofSpan: now.seconds / ProofDesk.span) }

  private func nonce(ofSpan span: Int64) -> String {
    Base64URL.encode(Array(HMAC<SHA256>.authenticationCode(for: Array(String(span).utf8), using: key)).prefix(16))
  }

  private func isGood(_ nonce: String, at now: UnixTime) -> Bool {
    let span = now.seconds / ProofDesk.span
    return [span, span - 1].contains { Secret(self.nonce(ofSpan: $0)) == Secret(nonce) }
  }

  /// Returns whether an address is the server's public address with this path. Ignores query and fragment.
  private func isThis(_ uri: String, _ path: String) -> Bool {
    guard let named = WebURL(uri), let own = WebURL(address + path) else { return false }
    return named.origin == own.origin && named.path == own.path
  }

  private func remember(_ proof: Proof, now: UnixTime) throws(Fault) {
    let id = Data(SHA256.hash(data: Array((proof.thumbprint + " " + proof.id).utf8)))
    let result: Result<Void, Fault> = seen.withLock { seen in
      if now.since(seen.cleared) > .seconds(60) || seen.ids.count >= ProofDesk.capacity {
        seen.ids = seen.ids.filter { $0.value > now }
        seen.cleared = now
      }
      guard seen.ids[id].map({ $0 <= now }) ?? true else { return .failure(.invalid) }
      guard seen.ids.count < ProofDesk.capacity else { return .failure(.busy) }
      // Until its time is outside the tolerance on either side.
      seen.ids[id] = now.advanced(by: ProofDesk.tolerance * 2 + .seconds(1))
      return .success(())
    }
    try result.get()
  }
}

/// A proof whose signature is valid for the key in it.
private struct Proof {
  /// The only algorithm, as in the metadata.
  private static let algorithms: Set<JWSAlgorithm> = [.es256]

  let thumbprint: String
  let method, target, id: String
  let madeAt: Double
  let tokenHash, nonce: String?

  init?(_ text: String) {
    guard let token = CompactJWS(Array(text.utf8)),
      let proven = token.payload(provingPossessionAs: "dpop+jwt", with: Proof.algorithms),
      let claims = JSONValue(proven.payload), let method = claims["htm"]?.string, let target = claims["htu"]?.string,
      let madeAt = claims["iat"]?.number, let id = claims["jti"]?.string
    else { return nil }
    let (hash, nonce) = (claims["ath"], claims["nonce"])
    guard hash == nil || hash?.string != nil, nonce == nil || nonce?.string != nil else { return nil }
    (self.method, self.target, self.id, self.madeAt) = (method, target, id, madeAt)
    (tokenHash, self.nonce) = (hash?.string, nonce?.string)
    thumbprint = proven.key.thumbprint
  }
}
#endif
