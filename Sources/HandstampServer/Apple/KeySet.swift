#if Server
import HandstampCore
import HandstampJOSE

/// An identity provider's keys, fetched on demand and cached according to `Cache-Control`.
///
/// An unknown key triggers another fetch, since providers rotate keys, but at most one per ``KeySet/pause``, so that made-up
/// key IDs cannot make the server fetch constantly.
actor KeySet {
  /// Minimum time between two fetches.
  static let pause = Duration.seconds(30)
  /// The limits of the cache lifetime, whatever the provider says.
  static let lives: ClosedRange<Duration> = .seconds(60)...(.seconds(86_400))
  /// How long keys may be used after their cache lifetime while no new ones are available.
  static let grace = Duration.seconds(3600)

  private let url: String
  private let transport: any Transport
  private let now: @Sendable () -> UnixTime
  private var keys: [String: JWSPublicKey] = [:]
  private var goodUntil: UnixTime?
  private var triedAt: UnixTime?
  private var fetching: Task<Result<Fetched, TokenError>, Never>?

  init(url: String, transport: any Transport, now: @escaping @Sendable () -> UnixTime) {
    self.url = url
    self.transport = transport
    self.now = now
  }

  /// Returns the key with this ID, or `nil` if the provider has none.
  ///
  /// - Throws: ``TokenError/keysUnavailable(_:)`` if the keys cannot be fetched.
  func key(named kid: String) async throws(TokenError) -> JWSPublicKey? {
    if isGood, let key = keys[kid] { return key }
    // A fetch that is already in flight can be shared.
    guard fetching != nil || mayFetch else {
      if isGood { return nil }
      return try usable(kid, failure: .keysUnavailable("fetching the keys failed a moment ago"))
    }
    switch await fetch() {
    // Use the fetched keys: a caller that waited for another one's fetch may get here before ``keys`` is set.
    case .success(let fetched): return fetched.keys[kid]
    case .failure(let fault): return try usable(kid, failure: fault)
    }
  }

  private var isGood: Bool { goodUntil.map { now() < $0 } ?? false }
  private var mayFetch: Bool { triedAt.map { now().since($0) >= KeySet.pause || now() < $0 } ?? true }

  /// Returns a cached key within the grace period, while no new ones are available.
  private func usable(_ kid: String, failure: TokenError) throws(TokenError) -> JWSPublicKey? {
    guard let goodUntil, now() < goodUntil.advanced(by: KeySet.grace) else { throw failure }
    if let key = keys[kid] { return key }
    throw failure
  }

  private struct Fetched: Sendable {
    var keys: [String: JWSPublicKey]
    var life: Duration
  }

  /// Fetches the keys. Concurrent callers share one fetch, which continues if the first of them is cancelled.
  private func fetch() async -> Result<Fetched, TokenError> {
    if let fetching { return await fetching.value }
    triedAt = now()
    let task = Task { [url, transport] in await KeySet.fetch(url, transport) }
    fetching = task
    let result = await task.value
    fetching = nil
    if case .success(let fetched) = result {
      keys = fetched.keys
      goodUntil = now().advanced(by: fetched.life)
    }
    return result
  }

  private static func fetch(_ url: String, _ transport: any Transport) async -> Result<Fetched, TokenError> {
    let request = TransportRequest(
      method: "GET", url: url, headers: [HeaderField("Accept", "application/json")], timeout: .seconds(10),
      maximumResponseSize: JWKSet.longest)
    do throws(TransportError) {
      let answer = try await transport.send(request)
      guard answer.status == 200 else { return .failure(.keysUnavailable("the key server returned \(answer.status)")) }
      guard let keys = read(answer.body) else { return .failure(.keysUnavailable("the key set is not valid")) }
      return .success(Fetched(keys: keys, life: life(answer.header("Cache-Control"))))
    } catch {
      return .failure(.keysUnavailable("cannot fetch the keys: \(error)"))
    }
  }

  /// Returns the keys for RS256 that have an ID, or `nil` if there are none.
  private static func read(_ body: [UInt8]) -> [String: JWSPublicKey]? {
    guard let set = JWKSet(body) else { return nil }
    var keys: [String: JWSPublicKey] = [:]
    for jwk in set.keys where jwk.key.algorithm == .rs256 {
      if let id = jwk.id { keys[id] = jwk.key }
    }
    return keys.isEmpty ? nil : keys
  }

  /// Returns the cache lifetime from `Cache-Control`, within ``lives``.
  static func life(_ field: String?) -> Duration {
    min(max(JWKSet.life(cacheControl: field), lives.lowerBound), lives.upperBound)
  }
}
#endif
