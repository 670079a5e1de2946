#if Server
import HandstampCore
import HandstampJOSE
import HandstampSupport

/// The keys of an issuer are not available at the moment.
struct KeysUnavailable: Error {
  let issuer: String
  let cause: String
}

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

  /// Returns where the keys are, and the issuer as its metadata spells it; `nil` if that was not needed.
  typealias Place = @Sendable () async throws(DescribedError) -> (url: String, issuer: String?)

  private let issuer: String
  private let place: Place
  private let algorithms: Set<JWSAlgorithm>
  private let transport: any Transport
  private let now: @Sendable () -> UnixTime
  private var keys: [String: JWSPublicKey] = [:]
  /// The issuer as its metadata spells it; `nil` before the first key, and for keys at a known URL.
  private(set) var published: String?
  private var goodUntil: UnixTime?
  private var triedAt: UnixTime?
  private var fetching: Task<Result<Fetched, DescribedError>, Never>?

  /// - Parameter algorithms: keys of others are left out.
  init(
    of issuer: String, at place: @escaping Place, algorithms: Set<JWSAlgorithm> = [.rs256], transport: any Transport,
    now: @escaping @Sendable () -> UnixTime
  ) {
    self.issuer = issuer
    self.place = place
    self.algorithms = algorithms
    self.transport = transport
    self.now = now
  }

  init(of issuer: String, url: String, transport: any Transport, now: @escaping @Sendable () -> UnixTime) {
    self.init(of: issuer, at: { () async throws(DescribedError) in (url, nil) }, transport: transport, now: now)
  }

  /// The keys are where the metadata of the issuer says (OpenID Connect Discovery 1.0 section 4).
  ///
  /// - Parameter issuer: an `https` URL, or `http` on this machine.
  init(issuer: String, transport: any Transport, now: @escaping @Sendable () -> UnixTime) {
    self.init(
      of: issuer, at: { () async throws(DescribedError) in try await KeySet.place(of: issuer, transport) },
      transport: transport, now: now)
  }

  /// Returns the key with this ID, or `nil` if the provider has none. Without an ID it is the only key: a token needs to name its key
  /// only if there are several (OpenID Connect Core 1.0 section 10.1).
  ///
  /// - Throws: ``KeysUnavailable`` if the keys cannot be fetched.
  func key(named kid: String?) async throws(KeysUnavailable) -> JWSPublicKey? {
    if isGood, let key = KeySet.key(kid, in: keys) { return key }
    // A fetch that is already in flight can be shared.
    guard fetching != nil || mayFetch else {
      if isGood { return nil }
      return try usable(kid, failure: DescribedError("fetching the keys failed a moment ago"))
    }
    switch await fetch() {
    // Use the fetched keys: a caller that waited for another one's fetch may get here before ``keys`` is set.
    case .success(let fetched):
      published = fetched.issuer
      return KeySet.key(kid, in: fetched.keys)
    case .failure(let fault): return try usable(kid, failure: fault)
    }
  }

  private var isGood: Bool { goodUntil.map { now() < $0 } ?? false }
  private var mayFetch: Bool { triedAt.map { now().since($0) >= KeySet.pause || now() < $0 } ?? true }

  /// Returns a cached key within the grace period, while no new ones are available.
  private func usable(_ kid: String?, failure: DescribedError) throws(KeysUnavailable) -> JWSPublicKey? {
    guard let goodUntil, now() < goodUntil.advanced(by: KeySet.grace), let key = KeySet.key(kid, in: keys) else {
      throw KeysUnavailable(issuer: issuer, cause: failure.description)
    }
    return key
  }

  private static func key(_ kid: String?, in keys: [String: JWSPublicKey]) -> JWSPublicKey? {
    guard let kid else { return keys.count == 1 ? keys.first?.value : nil }
    return keys[kid]
  }

  private struct Fetched: Sendable {
    var keys: [String: JWSPublicKey]
    var life: Duration
    var issuer: String?
  }

  /// Fetches the keys. Concurrent callers share one fetch, which continues if the first of them is cancelled.
  private func fetch() async -> Result<Fetched, DescribedError> {
    if let fetching { return await fetching.value }
    triedAt = now()
    let task = Task { [place, transport, algorithms] in await KeySet.fetch(place, transport, algorithms) }
    fetching = task
    let result = await task.value
    fetching = nil
    if case .success(let fetched) = result {
      keys = fetched.keys
      goodUntil = now().advanced(by: fetched.life)
    }
    return result
  }

  private static func fetch(
    _ place: Place, _ transport: any Transport, _ algorithms: Set<JWSAlgorithm>
  ) async -> Result<Fetched, DescribedError> {
    do throws(DescribedError) {
      let (url, issuer) = try await place()
      let response = try await get(url, transport)
      guard let keys = read(response.body, algorithms) else { throw DescribedError("the key set is not valid") }
      return .success(Fetched(keys: keys, life: life(response.header("Cache-Control")), issuer: issuer))
    } catch { return .failure(error) }
  }

  /// Returns where the keys of an issuer are, and how its metadata spells it.
  private static func place(
    of issuer: String, _ transport: any Transport
  ) async throws(DescribedError) -> (url: String, issuer: String?) {
    let response = try await get(WebURL.address("/.well-known/openid-configuration", below: issuer), transport)
    // Of this very issuer (section 4.3), and keys must not cross the network in clear.
    guard let document = JSONValue(response.body), let named = document["issuer"]?.string,
      issuer.isIssuer(published: named), let url = document["jwks_uri"]?.string, Origin(url)?.isTrustworthy == true
    else { throw DescribedError("the issuer's metadata is not valid") }
    return (url, named)
  }

  private static func get(_ url: String, _ transport: any Transport) async throws(DescribedError) -> TransportResponse {
    let request = TransportRequest(
      method: "GET", url: url, headers: [HeaderField("Accept", "application/json")], timeout: .seconds(10),
      maximumResponseSize: JWKSet.longest)
    let response: TransportResponse
    do throws(TransportError) { response = try await transport.send(request) } catch {
      throw DescribedError("cannot fetch \(url): \(error)")
    }
    guard response.status == 200 else { throw DescribedError("\(url) returned \(response.status)") }
    return response
  }

  /// Returns the keys for these algorithms by their IDs, or `nil` if there are none.
  private static func read(_ body: [UInt8], _ algorithms: Set<JWSAlgorithm>) -> [String: JWSPublicKey]? {
    guard let set = JWKSet(body) else { return nil }
    var keys: [String: JWSPublicKey] = [:]
    for jwk in set.keys where algorithms.contains(jwk.key.algorithm) {
      keys[jwk.id ?? jwk.key.thumbprint] = jwk.key
    }
    return keys.isEmpty ? nil : keys
  }

  /// Returns the cache lifetime from `Cache-Control`, within ``lives``.
  static func life(_ field: String?) -> Duration {
    min(max(JWKSet.life(cacheControl: field), lives.lowerBound), lives.upperBound)
  }
}
#endif
