#if Verifier
public import HandstampCore
import HandstampJOSE
import HandstampSupport
public import HandstampTransports

/// Verifies access tokens of one issuer (RFC 9068) without asking it: by its keys, and by the sessions that it says have ended.
///
/// ```swift
/// let verifier = try TokenVerifier(
///   VerifierConfiguration(issuer: "https://id.example.org", audiences: ["https://api.example.org"]))
/// let identity = try await verifier.verify(token)
/// ```
///
/// With ``VerifierConfiguration/feed``, ``run()`` has to run for as long as the verifier is used. Any number of tasks may verify at
/// once.
public final class TokenVerifier: Sendable {
  public let configuration: VerifierConfiguration
  private let rules: TokenRules
  private let keys: KeyFetcher
  private let feed: FeedReader?
  private let introspector: Introspector?
  private let proofs: ProofCheck
  private let document: ResourceDocument?

  /// - Parameter transport: sends the verifier's own requests: for keys, the feed, and introspection.
  /// - Throws: ``VerifierError``.
  public init(
    _ configuration: VerifierConfiguration, transport: any Transport = AsyncHTTPTransport.shared
  ) throws(VerifierError) {
    try configuration.check()
    self.configuration = configuration
    let algorithms = Set(configuration.algorithms.map(\.jws))
    if case .fixed(let text) = configuration.keys {
      guard let set = JWKSet(Array(text.utf8)), set.keys.contains(where: { algorithms.contains($0.key.algorithm) })
      else { throw .badKeys }
    }
    rules = TokenRules(
      issuer: configuration.issuer, audiences: configuration.audiences, algorithms: algorithms,
      leeway: configuration.leeway, firstPartyClients: configuration.firstPartyClients)
    let clock = configuration.clock
    keys = KeyFetcher(
      source: configuration.keys, issuer: configuration.issuer, policy: configuration.keyPolicy, transport: transport,
      clock: clock)
    feed = configuration.feed.map {
      FeedReader(
        url: configuration.feedURL($0), settings: $0, transport: transport, clock: clock, leeway: configuration.leeway,
        logger: configuration.logger)
    }
    introspector = configuration.feed.flatMap {
      guard $0.whenLost.last == .introspect else { return nil }
      return Introspector(url: configuration.introspectionURL($0), settings: $0, transport: transport)
    }
    document = try configuration.resourceDocument()
    proofs = ProofCheck(life: configuration.proofLife, leeway: configuration.leeway)
  }

  /// Follows the feed, and has the issuer's keys before the first token comes, until the task is cancelled.
  ///
  /// It never fails: a lost feed is connected again, see ``feedStatus``.
  public func run() async {
    // No end waits for a fetch.
    let keeping = Task { await keys.keep() }
    defer { keeping.cancel() }
    if let feed {
      await feed.run()
    } else {
      for await _ in AsyncStream(Void.self, { _ in }) {}
    }
  }

  /// Whether tokens can be verified while the issuer is gone: its keys were fetched, and may still be used.
  package var hasKeys: Bool { keys.hasKeys }

  /// The state of the feed; `nil` without one.
  public var feedStatus: FeedStatus? { feed?.status }

  /// Verifies a bearer token.
  ///
  /// A token that is bound to a key is refused: it counts only with a proof, see ``authenticate(_:requiring:_:)``.
  ///
  /// - Parameters:
  ///   - scopes: the scopes that it must have been granted, all of them.
  ///   - rule: how and when its user must have proved to be the account's owner.
  public func verify(
    _ token: String, requiring scopes: [String] = [], _ rule: AuthenticationRule = .any
  ) async throws(AccessError) -> TokenIdentity {
    let identity = try await claims(of: Array(token.utf8))
    guard identity.keyThumbprint == nil, !configuration.requiresProofs else { throw .tokenInvalid(.scheme) }
    return try await admitted(identity, token: token, requiring: scopes, rule)
  }

  /// Verifies the token of a request, and the proof of possession that it may need (RFC 9449 section 7).
  ///
  /// - Parameters:
  ///   - scopes: the scopes that the token must have been granted, all of them.
  ///   - rule: how and when its user must have proved to be the account's owner.
  /// - Throws: ``AccessError``; ``response(to:of:requiring:)`` is the response to send.
  public func authenticate(
    _ request: AccessRequest, requiring scopes: [String] = [], _ rule: AuthenticationRule = .any
  ) async throws(AccessError) -> TokenIdentity {
    let (scheme, token) = try request.token()
    let identity = try await claims(of: Array(token.utf8))
    try checkProof(of: request, token, identity, scheme)
    return try await admitted(identity, token: String(token), requiring: scopes, rule)
  }

  /// The response to a refused request, with the challenges of RFC 6750 section 3 and RFC 9449 section 7.1. They name the metadata of
  /// ``VerifierConfiguration/resource``.
  ///
  /// - Parameter scopes: the scopes that the request needs: clients ask for them when they sign in (RFC 6750 section 3).
  public func response(
    to error: AccessError, of request: AccessRequest, requiring scopes: [String] = []
  ) -> RefusalResponse {
    error.response(to: request.scheme, requiring: scopes, metadata: document?.url)
  }

  /// The document by which clients find the issuer; `nil` without ``VerifierConfiguration/resource``.
  public var resourceMetadata: ResourceMetadata? { document.map { ResourceMetadata($0) } }

  /// The claims of a genuine token. Bad tokens cost at most one signature check.
  private func claims(of token: [UInt8]) async throws(AccessError) -> TokenIdentity {
    guard let jws = CompactJWS(token), let header = jws.header else { throw .tokenInvalid(.malformed) }
    try rules.check(header)
    let key = try await keys.key(KeyCache.Name(id: header.keyID, algorithm: header.algorithm))
    guard let payload = jws.payload(under: header, signedBy: key) else { throw .tokenInvalid(.signature) }
    return try rules.identity(in: payload, at: configuration.clock.now(), from: keys.published)
  }

  private func checkProof(
    of request: AccessRequest, _ token: Substring, _ identity: TokenIdentity, _ scheme: AccessScheme
  ) throws(AccessError) {
    guard let thumbprint = identity.keyThumbprint else {
      guard scheme == .bearer, !configuration.requiresProofs else { throw .tokenInvalid(.scheme) }
      return
    }
    guard scheme == .dpop else { throw .tokenInvalid(.scheme) }
    try proofs.check(request, token: token, thumbprint: thumbprint, at: configuration.clock.now())
  }

  /// The identity, if its session has not ended and its scopes suffice.
  private func admitted(
    _ identity: TokenIdentity, token: String, requiring scopes: [String], _ rule: AuthenticationRule
  ) async throws(AccessError) -> TokenIdentity {
    var identity = identity
    guard configuration.admitsMachines || !identity.isMachine else { throw .noAccount }
    identity.assurance = try await assurance(of: identity, token: token)
    // The scopes are in its challenge as well, so that the user is asked once.
    try require(rule, of: identity)
    guard identity.has(scopes: scopes) else { throw .insufficientScope(scopes) }
    return identity
  }

  /// Requires of a verified token what a route finds out later, such as from the amount of a payment.
  ///
  /// - Throws: ``AccessError/insufficientAuthentication(_:)``.
  public func require(_ rule: AuthenticationRule, of identity: TokenIdentity) throws(AccessError) {
    guard rule.isMet(by: identity, at: configuration.clock.now(), leeway: configuration.leeway) else {
      throw .insufficientAuthentication(rule)
    }
  }

  /// Waits until what was opened with a token has to end, such as a WebSocket: its session or the token has ended, or requests are
  /// refused because the feed is lost (``LostFeedPolicy``). ``IdentityMiddleware`` does so for responses without a length.
  ///
  /// - Returns: the reason; `nil` if the task was cancelled.
  public func waitForEnd(of identity: TokenIdentity) async -> AccessError? {
    await withTaskGroup(of: AccessError?.self) { group in
      group.addTask { await self.expiry(of: identity) }
      if let feed, let session = identity.sessionID { group.addTask { await feed.waitForEnd(of: session) } }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
  }

  private func expiry(of identity: TokenIdentity) async -> AccessError? {
    while true {
      let left = identity.expiresAt.advanced(by: configuration.leeway).since(configuration.clock.now())
      guard left > .zero else { return .tokenExpired(at: identity.expiresAt) }
      // In parts, because the clock may be set.
      guard (try? await Task.sleep(for: min(left, .seconds(10)))) != nil else { return nil }
    }
  }

  private func assurance(of identity: TokenIdentity, token: String) async throws(AccessError) -> SessionAssurance {
    guard let feed else { return .expiryOnly }
    // Its end could not be noticed.
    guard let session = identity.sessionID else { throw .tokenInvalid(.claims) }
    switch try feed.verdict(on: RevocationList.Key(session)) {
    case .live: return .live
    case .tolerated(let since): return .stale(since: feed.time(of: since))
    case .refused(let since), .introspected(let since):
      guard let introspector else { throw .unavailable(.revocations(since: since.map(feed.time))) }
      try await introspector.requireActive(token, identity)
      return .introspected
    }
  }
}

extension VerifierConfiguration.Algorithm {
  var jws: JWSAlgorithm {
    switch self {
    case .es256: .es256
    case .rs256: .rs256
    }
  }
}
#endif
