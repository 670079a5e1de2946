#if Programs
import Crypto
import Foundation
import Handstamp
import HandstampOAuth
import HandstampRegistry
import HandstampServer
import HandstampSupport
import HandstampTesting
import HandstampTransports
import Testing

/// Notes how long a response to each refresh is awaited.
private final class Patience: Transport {
  let base: any Transport
  let limits = Locked<[Duration]>([])
  init(_ base: any Transport) { self.base = base }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    if String(decoding: request.body, as: UTF8.self).contains("grant_type=refresh_token") {
      limits.withLock { $0.append(request.timeout) }
    }
    return try await base.send(request)
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    try await base.open(request)
  }
}

/// Our OAuth client at our own server, over a network that loses and doubles.
@Suite(.timeLimit(.minutes(10))) struct `An OAuth session at our own server` {
  private struct Fixture {
    let network: LossyTransport
    let vault = MemoryVault()
    let clock = LaterClock()
    let backend: OAuthBackend
    let server: OwnServer

    init(_ server: OwnServer, prover: DPoPProver? = nil, over transport: any Transport = AsyncHTTPTransport.shared) {
      self.server = server
      network = LossyTransport(transport)
      backend = OAuthBackend(
        OAuthClient(issuer: server.url, id: "app", scopes: ["profile"]), transport: network, proving: prover)
    }

    /// Another program with the same vault.
    func controller() -> SessionController {
      SessionController(
        backend: backend, vault: vault,
        policy: SessionPolicy(refresh: RefreshPolicy(usesTimer: false), retry: RetryPolicy(base: .zero)), clock: clock)
    }

    func signIn(_ controller: SessionController) async throws {
      try await server.signUp()
      let person = WebPerson()
      let receiver = try await LoopbackReceiver.listen { page in
        do { try await person.visit(page) } catch { Issue.record(error) }
      }
      let backend = backend
      _ = try await controller.signIn { () async throws(SessionError) in
        try await backend.signIn(through: receiver, redirectURI: receiver.redirectURI)
      }
      await receiver.close()
    }

    /// The number of sessions that the server ended because of a second use.
    func tokenReuses() async throws -> Int {
      try await server.server.registry.events(after: .zero).count { $0.event.reason == .tokenReuseDetected }
    }
  }

  private static let fates: [LossyTransport.Fate] = [
    .carried, .responseLost, .connectionBroken, .requestLost, .doubled, .answered(.init(status: 502)),
    .answered(.init(status: 429, headers: [HeaderField("Retry-After", "1")])), .responseLost,
  ]

  @Test(arguments: [false, true])
  func `outlasts every lost, doubled and foreign response`(isBound: Bool) async throws {
    try await OwnServer.run { server async throws in
      let fixture = Fixture(server, prover: isBound ? DPoPProver(DPoPKey(P256.Signing.PrivateKey())) : nil)
      let controller = fixture.controller()
      try await fixture.signIn(controller)
      var seen: Set<AccessToken> = [try await controller.token()]
      for round in 0..<16 {
        fixture.clock.advance(by: .seconds(601))
        fixture.network.expect(Self.fates[round % Self.fates.count])
        seen.insert(try await controller.token())
      }
      #expect(seen.count == 17)
      #expect(try await fixture.tokenReuses() == 0)
    }
  }

  @Test func `outlasts a program that ends between the server's commit and its own`() async throws {
    try await OwnServer.run { server async throws in
      let fixture = Fixture(server)
      try await fixture.signIn(fixture.controller())
      for round in 0..<6 {
        fixture.clock.advance(by: .seconds(601))
        let dying = SessionController(
          backend: fixture.backend, vault: fixture.vault,
          policy: SessionPolicy(refresh: RefreshPolicy(usesTimer: false), retry: RetryPolicy(attempts: 1)),
          clock: fixture.clock)
        fixture.network.expect(round % 2 == 0 ? .connectionBroken : .responseLost)
        _ = try? await dying.refreshIfNeeded()
        // The limit of an attempt whose key the server has not confirmed yet.
        if round == 0 { fixture.clock.advance(by: .seconds(61)) }
        _ = try await fixture.controller().token()
      }
      #expect(try await fixture.tokenReuses() == 0)
    }
  }

  /// Before a response has said that keys are used, one may be awaited for longer, because a repeat may cost the session.
  @Test func `awaits silence for 20 s only, once a repeat is free`() async throws {
    try await OwnServer.run { server async throws in
      let network = Patience(AsyncHTTPTransport.shared)
      let fixture = Fixture(server, over: network)
      let controller = fixture.controller()
      try await fixture.signIn(controller)
      for _ in 0..<2 {
        fixture.clock.advance(by: .seconds(601))
        _ = try await controller.token()
      }
      #expect(network.limits.withLock { $0.last } == .seconds(20))
    }
  }

  @Test func `carries a key that the server confirms, and is one refresh for every target`() async throws {
    try await OwnServer.run { server async throws in
      let fixture = Fixture(server)
      let controller = fixture.controller()
      try await fixture.signIn(controller)
      fixture.clock.advance(by: .seconds(601))
      _ = try await controller.token()
      guard case .value(let entry) = await fixture.vault.read() else {
        Issue.record("no session")
        return
      }
      #expect(entry.session?.rotationKeys == .accepted && entry.session?.attempt == nil)
      fixture.network.expect(.responseLost)
      _ = try await controller.token(for: TokenTarget(resource: "https://api.example.org"))
      #expect(try await fixture.tokenReuses() == 0)
    }
  }
}
#endif
