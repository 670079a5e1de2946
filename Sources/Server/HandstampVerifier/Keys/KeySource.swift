#if Verifier
import HandstampCore
import HandstampJOSE
import HandstampSupport

/// Where a verifier gets the issuer's keys from.
public enum KeySource: Sendable, Hashable {
  /// A JWK Set (RFC 7517) at that address: `https`, or `http` on this machine.
  case url(String)
  /// The `jwks_uri` of the issuer's metadata (RFC 8414 section 3), or else of its OpenID configuration.
  case metadata
  /// A JWK Set as JSON text, which is never fetched.
  case fixed(String)
}

/// Fetches the keys of an issuer and keeps them.
final class KeyFetcher: Sendable {
  private struct State: Sendable {
    var cache: KeyCache
    var fetch: Task<Void, Never>?
    /// From the metadata, as the next one.
    var url: String?
    var issuer: String?
  }

  private let source: KeySource
  private let issuer: String
  private let policy: KeyPolicy
  private let transport: any Transport
  private let clock: VerifierClock
  private let state: Locked<State>

  init(source: KeySource, issuer: String, policy: KeyPolicy, transport: any Transport, clock: VerifierClock) {
    self.source = source
    self.issuer = issuer
    self.policy = policy
    self.transport = transport
    self.clock = clock
    state = Locked(State(cache: KeyCache(policy)))
  }

  /// The issuer as its metadata spells it; `nil` before that was fetched, and where the keys are found without it.
  var published: String? { state.withLock { $0.issuer } }

  /// Returns the key that a token's header names.
  func key(_ name: KeyCache.Name) async throws(AccessError) -> JWSPublicKey {
    let uptime = clock.uptime()
    let decision = state.withLock { state in
      let decision = state.cache.decision(for: name, at: uptime)
      switch decision {
      case .use, .fetch: return decision
      // The fetch in flight may bring the key.
      case .unknown, .unavailable: return state.fetch == nil ? decision : .fetch
      }
    }
    switch decision {
    case .use(let key, let isStale):
      if isStale { _ = fetch() }
      return key
    case .unknown: throw .tokenInvalid(.unknownKey)
    case .unavailable: throw .unavailable(.keys)
    case .fetch: await fetch().value
    }
    let settled = clock.uptime()
    switch state.withLock({ $0.cache.settled(name, at: settled) }) {
    case .use(let key, _): return key
    case .unknown: throw .tokenInvalid(.unknownKey)
    case .unavailable, .fetch: throw .unavailable(.keys)
    }
  }

  /// Whether tokens can be verified without asking the issuer.
  var hasKeys: Bool {
    let uptime = clock.uptime()
    return state.withLock { $0.cache.usableAge(at: uptime) != nil }
  }

  /// Has keys before a token needs them, until the task is cancelled: the issuer may be gone when the first token comes.
  func keep() async {
    var pause = FeedReader.pauses.lowerBound
    repeat {
      await fetch().value
      let hasFailed = state.withLock { $0.cache.hasFailed }
      pause = hasFailed ? min(pause * 2, policy.pause) : max(policy.absence / 2, policy.lives.upperBound)
    } while (try? await Task.sleep(for: pause)) != nil
  }

  /// Begins a fetch, or joins the one in flight. It continues if its caller is cancelled.
  private func fetch() -> Task<Void, Never> {
    let uptime = clock.uptime()
    return state.withLock { state in
      if let fetch = state.fetch { return fetch }
      state.cache.began(at: uptime)
      let fetch = Task { [self] in
        let result = await fetched()
        let uptime = clock.uptime()
        self.state.withLock { state in
          switch result {
          case (let set, let life)?: state.cache.fetched(set, life: life, at: uptime)
          case nil: state.cache.failed()
          }
          state.fetch = nil
        }
      }
      state.fetch = fetch
      return fetch
    }
  }

  private func fetched() async -> (JWKSet, Duration)? {
    switch source {
    case .fixed(let text): return JWKSet(Array(text.utf8)).map { ($0, .seconds(86_400 * 365)) }
    case .url(let url): return await set(at: url)
    case .metadata:
      let url: String?
      if let known = state.withLock({ $0.url }) { url = known } else { url = await discovered() }
      guard let url else { return nil }
      let found = await set(at: url)
      // It may have moved: the next fetch looks again.
      state.withLock { $0.url = found == nil ? nil : url }
      return found
    }
  }

  private func set(at url: String) async -> (JWKSet, Duration)? {
    guard let response = await get(url), let set = JWKSet(response.body), !set.keys.isEmpty else { return nil }
    return (set, JWKSet.life(cacheControl: response.header("Cache-Control")))
  }

  /// The `jwks_uri` of the first metadata document that is the issuer's own (RFC 8414 section 3.3).
  private func discovered() async -> String? {
    guard let place = WebURL(issuer) else { return nil }
    let path = place.path == "/" ? "" : place.path
    let origin = place.origin.text
    for url in [
      "\(origin)/.well-known/oauth-authorization-server\(path)", "\(origin)\(path)/.well-known/openid-configuration",
    ] {
      guard let response = await get(url), let json = JSONValue(response.body), let named = json["issuer"]?.string,
        issuer.isIssuer(published: named), let keys = json["jwks_uri"]?.string
      else { continue }
      state.withLock { $0.issuer = named }
      return keys
    }
    return nil
  }

  private func get(_ url: String) async -> TransportResponse? {
    guard Origin(url)?.isTrustworthy == true else { return nil }
    let response = try? await transport.send(
      TransportRequest(
        method: "GET", url: url, headers: [HeaderField("Accept", "application/json")], timeout: .seconds(10),
        maximumResponseSize: JWKSet.longest))
    return response?.status == 200 ? response : nil
  }
}
#endif
