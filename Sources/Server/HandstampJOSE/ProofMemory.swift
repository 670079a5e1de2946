#if JOSE
import Crypto
package import HandstampCore

/// The proofs of possession that were used, so that each works once (RFC 9449 section 11.1).
///
/// It forgets rather than refuses: a key's oldest proofs after `perKey` newer ones, the keys not used for longest after
/// `capacity` proofs in all, and every proof once its time has passed. So a client can only push out its own proofs, as long
/// as it has few keys.
package struct ProofMemory: Sendable {
  /// The last proofs of one key, in a ring.
  private struct Ring: Sendable {
    private var proofs: [UInt64] = []
    private var oldest = 0

    var count: Int { proofs.count }
    func contains(_ proof: UInt64) -> Bool { proofs.contains(proof) }

    /// Returns whether it has one more than before.
    mutating func add(_ proof: UInt64, capacity: Int) -> Bool {
      guard proofs.count >= capacity else {
        proofs.append(proof)
        return true
      }
      proofs[oldest] = proof
      oldest = (oldest + 1) % proofs.count
      return false
    }
  }

  /// How long a proof can be valid at most, from the first use of it.
  private let life: Duration
  /// How many proofs of a key are remembered.
  private let perKey: Int
  /// How many proofs are remembered in all, at least; at most twice as many.
  private let capacity: Int
  // Two generations instead of an order of all keys: nothing is ever sorted or searched.
  private var young: [String: Ring] = [:]
  private var old: [String: Ring] = [:]
  /// How many proofs are in ``young``.
  private var count = 0
  private var began = UnixTime(seconds: 0)

  package init(life: Duration, perKey: Int, capacity: Int = 100_000) {
    self.life = life
    self.perKey = max(1, perKey)
    self.capacity = capacity
  }

  /// Returns whether a proof was used and is remembered.
  package func contains(_ id: String, of key: String) -> Bool {
    (young[key] ?? old[key])?.contains(ProofMemory.digest(id)) ?? false
  }

  /// Remembers a proof. Returns `false` if it already was.
  package mutating func insert(_ id: String, of key: String, at now: UnixTime) -> Bool {
    if count >= capacity || now.since(began) >= life {
      (old, young, count, began) = (young, [:], 0, now)
    }
    if young[key] == nil, let ring = old.removeValue(forKey: key) {
      young[key] = ring
      count += ring.count
    }
    let digest = ProofMemory.digest(id)
    guard young[key]?.contains(digest) != true else { return false }
    if young[key, default: Ring()].add(digest, capacity: perKey) { count += 1 }
    return true
  }

  /// 64 bits are enough: only proofs of one key are compared, and only their client chooses the IDs.
  private static func digest(_ id: String) -> UInt64 {
    SHA256.hash(data: Array(id.utf8)).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }
}
#endif
