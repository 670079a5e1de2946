#if Programs
import HandstampCore
import HandstampJOSE
import HandstampSupport
import Testing

@testable import HandstampVerifier

@Suite(.timeLimit(.minutes(10))) struct `The cache of an issuer's keys` {
  private let one = JWSPrivateKey.es256().publicKey
  private let two = JWSPrivateKey.es256().publicKey
  private func name(_ key: JWSPublicKey) -> KeyCache.Name { KeyCache.Name(id: key.thumbprint, algorithm: .es256) }
  private let policy = KeyPolicy(lives: .seconds(10)...(.seconds(3600)), absence: .seconds(1000), pause: .seconds(5))

  private enum Answer: Equatable { case use, stale, fetch, unknown, unavailable }
  private func answer(_ decision: KeyCache.Decision) -> Answer {
    switch decision {
    case .use(_, isStale: false): .use
    case .use(_, isStale: true): .stale
    case .fetch: .fetch
    case .unknown: .unknown
    case .unavailable: .unavailable
    }
  }

  @Test func `fetches first, and then only what is missing, once per pause`() {
    var cache = KeyCache(policy)
    #expect(answer(cache.decision(for: name(one), at: .zero)) == .fetch)
    cache.began(at: .zero)
    #expect(answer(cache.settled(name(one), at: .zero)) == .unavailable)
    cache.fetched(JWKSet([JWK(one)]), life: .seconds(300), at: .seconds(1))
    #expect(answer(cache.decision(for: name(one), at: .seconds(1))) == .use)
    // An unknown key within the pause is refused without a fetch.
    #expect(answer(cache.decision(for: name(two), at: .seconds(4.999))) == .unknown)
    #expect(answer(cache.decision(for: name(two), at: .seconds(5))) == .fetch)
    cache.began(at: .seconds(5))
    #expect(answer(cache.decision(for: name(two), at: .seconds(9.9))) == .unknown)
    #expect(answer(cache.decision(for: name(one), at: .seconds(9.9))) == .use)
  }

  @Test func `asks again in the background, and waits for the answer when that is overdue`() {
    var cache = KeyCache(policy)
    cache.began(at: .zero)
    cache.fetched(JWKSet([JWK(one)]), life: .seconds(100), at: .zero)
    #expect(answer(cache.decision(for: name(one), at: .seconds(100))) == .use)
    #expect(answer(cache.decision(for: name(one), at: .seconds(100.001))) == .stale)
    #expect(answer(cache.decision(for: name(one), at: .seconds(200))) == .stale)
    #expect(answer(cache.decision(for: name(one), at: .seconds(200.001))) == .fetch)
    cache.began(at: .seconds(201))
    cache.fetched(JWKSet([JWK(two)]), life: .seconds(100), at: .seconds(201))
    // The removed key is gone.
    #expect(answer(cache.settled(name(one), at: .seconds(201))) == .unknown)
    #expect(answer(cache.settled(name(two), at: .seconds(201))) == .use)
  }

  @Test func `outlives the absence of the issuer, up to a limit`() {
    var cache = KeyCache(policy)
    cache.began(at: .zero)
    cache.fetched(JWKSet([JWK(one)]), life: .seconds(10), at: .zero)
    cache.began(at: .seconds(995))
    cache.failed()
    #expect(answer(cache.decision(for: name(one), at: .seconds(996))) == .use)
    // A key that is not there may be one that could not be fetched.
    #expect(answer(cache.decision(for: name(two), at: .seconds(996))) == .unavailable)
    #expect(answer(cache.settled(name(one), at: .seconds(1000))) == .use)
    #expect(answer(cache.settled(name(one), at: .seconds(1000.001))) == .unavailable)
  }

  @Test func `limits what the issuer says about its lifetime`() {
    for (said, meant) in [(Duration.zero, Duration.seconds(10)), (.seconds(1 << 32), .seconds(3600))] {
      var cache = KeyCache(KeyPolicy(absence: .seconds(86_400)))
      cache.began(at: .zero)
      cache.fetched(JWKSet([JWK(one)]), life: said, at: .zero)
      #expect(answer(cache.decision(for: name(one), at: meant)) == .use)
      let later = answer(cache.decision(for: name(one), at: meant + .seconds(10)))
      #expect(later == .stale || later == .fetch)
    }
  }

  @Test func `has a key for a token without a key ID only if there is no choice`() {
    var cache = KeyCache(policy)
    cache.began(at: .zero)
    cache.fetched(JWKSet([JWK(one)]), life: .seconds(10), at: .zero)
    #expect(answer(cache.settled(KeyCache.Name(id: nil, algorithm: .es256), at: .zero)) == .use)
    #expect(answer(cache.settled(KeyCache.Name(id: nil, algorithm: .rs256), at: .zero)) == .unknown)
    #expect(answer(cache.settled(KeyCache.Name(id: one.thumbprint, algorithm: .rs256), at: .zero)) == .unknown)
    cache.fetched(JWKSet([JWK(one), JWK(two)]), life: .seconds(10), at: .zero)
    #expect(answer(cache.settled(KeyCache.Name(id: nil, algorithm: .es256), at: .zero)) == .unknown)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The keys of an issuer` {
  private func verifier(
    _ issuer: Issuer, _ transport: ScriptedTransport, _ keys: KeySource? = nil
  ) throws -> TokenVerifier {
    try issuer.verifier(transport) { $0.keys = keys ?? .url(Issuer.name + "/keys") }
  }

  @Test func `are fetched once, however many tokens there are with unknown keys`() async throws {
    let issuer = Issuer()
    let keys = issuer.keys
    let transport = ScriptedTransport { _ in TransportResponse(status: 200, body: Array(keys.utf8)) }
    let verifier = try verifier(issuer, transport)
    let stranger = JWSPrivateKey.es256()
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<200 {
        group.addTask {
          let token = issuer.token(header: ["kid": #""k\#(number)""#], signedBy: stranger)
          await #expect(throws: AccessError.tokenInvalid(.unknownKey)) { try await verifier.verify(token) }
        }
      }
    }
    _ = try await verifier.verify(issuer.token())
    #expect(transport.requests.count == 1)
    issuer.clocks.advance(by: .seconds(10))
    await #expect(throws: AccessError.tokenInvalid(.unknownKey)) {
      try await verifier.verify(issuer.token(header: ["kid": #""new""#]))
    }
    #expect(transport.requests.count == 2)
  }

  @Test func `are used while the issuer is gone, and refused as unavailable before they were ever there`() async throws
  {
    let issuer = Issuer()
    let keys = issuer.keys
    let transport = ScriptedTransport()
    let verifier = try verifier(issuer, transport)
    await #expect(throws: AccessError.unavailable(.keys)) { try await verifier.verify(issuer.token()) }
    transport.answering { _ in TransportResponse(status: 200, body: Array(keys.utf8)) }
    // Not before the pause.
    await #expect(throws: AccessError.unavailable(.keys)) { try await verifier.verify(issuer.token()) }
    issuer.clocks.advance(by: .seconds(10))
    _ = try await verifier.verify(issuer.token())
    transport.answering { _ in TransportResponse(status: 503) }
    issuer.clocks.advance(by: .seconds(86_000))
    _ = try await verifier.verify(issuer.token())
    issuer.clocks.advance(by: .seconds(401))
    await #expect(throws: AccessError.unavailable(.keys)) { try await verifier.verify(issuer.token()) }
  }

  @Test func `are found by the issuer's metadata, which must be its own`() async throws {
    let issuer = Issuer()
    let keys = issuer.keys
    let named = Locked("https://evil.example.org")
    let transport = ScriptedTransport { request in
      let body =
        switch request.url {
        case Issuer.name + "/.well-known/openid-configuration":
          #"{"issuer":"\#(named.withLock { $0 })","jwks_uri":"https://keys.example.org/set"}"#
        case "https://keys.example.org/set": keys
        default: ""
        }
      return TransportResponse(status: body.isEmpty ? 404 : 200, body: Array(body.utf8))
    }
    let verifier = try verifier(issuer, transport, .metadata)
    await #expect(throws: AccessError.unavailable(.keys)) { try await verifier.verify(issuer.token()) }
    named.withLock { $0 = Issuer.name }
    issuer.clocks.advance(by: .seconds(10))
    #expect(try await verifier.verify(issuer.token()).subject == "ada")
  }

  /// The issuer that a configuration hands over may differ from the published one by the slash of its empty path.
  @Test(arguments: [Issuer.name, Issuer.name + "/"], [Issuer.name, Issuer.name + "/"])
  func `are found by either spelling of an empty path, and its own counts then`(
    handed: String, published: String
  ) async throws {
    let issuer = Issuer()
    let keys = issuer.keys
    let transport = ScriptedTransport { request in
      switch request.url {
      case Issuer.name + "/.well-known/jwks.json": TransportResponse(status: 200, body: Array(keys.utf8))
      case Issuer.name + "/.well-known/oauth-authorization-server":
        TransportResponse(
          status: 200,
          body: Array(#"{"issuer":"\#(published)","jwks_uri":"\#(Issuer.name)/.well-known/jwks.json"}"#.utf8))
      default: TransportResponse(status: 404)
      }
    }
    for source in [KeySource.metadata, nil] {
      var configuration = VerifierConfiguration(issuer: handed, audiences: [handed], keys: source)
      configuration.clock = issuer.clocks.clock
      let verifier = try TokenVerifier(configuration, transport: transport)
      func claims(_ name: String) -> [String: String] { ["iss": #""\#(name)""#, "aud": #""\#(name)""#] }
      #expect(try await verifier.verify(issuer.token(claims(published))).issuer == published)
      guard source == .metadata else { continue }
      let other = published == Issuer.name ? Issuer.name + "/" : Issuer.name
      await #expect(throws: AccessError.tokenInvalid(.issuer)) {
        try await verifier.verify(issuer.token(claims(other)))
      }
    }
  }
}
#endif
