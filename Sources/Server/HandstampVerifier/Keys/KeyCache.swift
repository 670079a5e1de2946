#if Verifier
import HandstampJOSE

/// The keys of an issuer, and what to do about one that is not there. Pure: time comes in, and the caller fetches.
struct KeyCache: Sendable {
  /// The key that a token's header names.
  struct Name: Hashable, Sendable {
    var id: String?
    var algorithm: JWSAlgorithm
  }

  enum Decision: Sendable {
    /// - `isStale`: whether a fetch should begin, without waiting for it.
    case use(JWSPublicKey, isStale: Bool)
    /// Wait for a fetch, then call ``KeyCache/settled(_:at:)``.
    case fetch
    /// The issuer has no such key.
    case unknown
    /// The issuer's keys are not known.
    case unavailable
  }

  private let policy: KeyPolicy
  private var keys: [Name: JWSPublicKey] = [:]
  private var fetchedAt: Duration?
  private var life = Duration.zero
  private var triedAt: Duration?
  private(set) var hasFailed = false

  init(_ policy: KeyPolicy) { self.policy = policy }

  /// Decides about a token, before any fetch.
  func decision(for name: Name, at uptime: Duration) -> Decision {
    let mayFetch = triedAt.map { uptime - $0 >= policy.pause } ?? true
    guard let age = usableAge(at: uptime), let key = keys[name] else {
      return mayFetch ? .fetch : settled(name, at: uptime)
    }
    if age <= life || !mayFetch { return .use(key, isStale: false) }
    // A key may have been removed: tokens do not wait for that word at once, but not for long either.
    return age <= life * 2 ? .use(key, isStale: true) : .fetch
  }

  /// Decides about a token after a fetch, or while there must be none.
  func settled(_ name: Name, at uptime: Duration) -> Decision {
    guard usableAge(at: uptime) != nil else { return .unavailable }
    if let key = keys[name] { return .use(key, isStale: false) }
    // After a failure, the key may be one of those that could not be fetched.
    return hasFailed ? .unavailable : .unknown
  }

  /// Call it when a fetch begins.
  mutating func began(at uptime: Duration) { triedAt = uptime }

  /// Call it when a fetch has failed. The keys remain.
  mutating func failed() { hasFailed = true }

  /// Call it when a fetch has succeeded.
  ///
  /// - Parameter life: from the issuer's `Cache-Control`.
  mutating func fetched(_ set: JWKSet, life: Duration, at uptime: Duration) {
    keys = KeyCache.named(set)
    fetchedAt = uptime
    self.life = min(max(life, policy.lives.lowerBound), policy.lives.upperBound)
    hasFailed = false
  }

  /// How long ago the keys were fetched; `nil` if there are none that may be used.
  func usableAge(at uptime: Duration) -> Duration? {
    fetchedAt.map { uptime - $0 }.flatMap { $0 <= max(policy.absence, life * 2) ? $0 : nil }
  }

  /// By ID and algorithm, the first of each. A token without a key ID (RFC 9068 does not demand one) gets the key if its algorithm
  /// has only one: trying several would make the work of a bad token a multiple of a good one's.
  private static func named(_ set: JWKSet) -> [Name: JWSPublicKey] {
    var keys: [Name: JWSPublicKey] = [:]
    for jwk in set.keys {
      guard let id = jwk.id else { continue }
      let name = Name(id: id, algorithm: jwk.key.algorithm)
      if keys[name] == nil { keys[name] = jwk.key }
    }
    for algorithm in JWSAlgorithm.allCases {
      let own = set.keys.filter { $0.key.algorithm == algorithm }
      if own.count == 1 { keys[Name(id: nil, algorithm: algorithm)] = own[0].key }
    }
    return keys
  }
}
#endif
