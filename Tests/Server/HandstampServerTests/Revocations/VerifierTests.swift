#if Programs
import Crypto
import HandstampCore
import HandstampRegistry
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampServer
@testable import HandstampVerifier

/// A verifier and a server, over a socket.
@Suite(.timeLimit(.minutes(10))) struct `A verifier of the server's tokens` {
  private static func run(
    whenLost policy: LostFeedPolicy = .refuse, body: (TestServer, TokenVerifier) async throws -> Void
  ) async throws {
    let clients = try TestServer.clients()
    try await TestServer.run {
      $0.clients = clients
    } body: { test async throws in
      var configuration = VerifierConfiguration(
        issuer: "https://id.example.org", audiences: ["https://id.example.org"],
        keys: .url(test.client.base + "/.well-known/jwks.json"), firstPartyClients: ["handstamp"],
        feed: FeedSettings(
          clientID: "api", clientSecret: Secret(TestServer.secret), url: test.client.base + "/v1/revocations",
          whenLost: policy, silence: .seconds(240), introspectionURL: test.client.base + "/oauth/introspect"))
      configuration.clock = VerifierClock(now: { test.clock.now }, uptime: VerifierClock.system.uptime)
      let transport = PatientTransport()
      let verifier = try TokenVerifier(configuration, transport: transport)
      let running = Task { await verifier.run() }
      #expect(await eventually { verifier.feedStatus?.isLive == true })
      do { try await body(test, verifier) } catch {
        running.cancel()
        throw error
      }
      running.cancel()
      await running.value
      await transport.shutdown()
    }
  }

  private func refusal(_ verifier: TokenVerifier, _ token: String) async -> AccessError? {
    do throws(AccessError) {
      _ = try await verifier.verify(token)
      return nil
    } catch { return error }
  }

  @Test func `admits them until their session ends, however it ends`() async throws {
    try await Self.run { test, verifier async throws in
      let phone = try await test.signUp(device: "phone")
      let identity = try await verifier.verify(phone.access, requiring: ["anything"])
      #expect(identity.subject == phone.account)
      #expect(identity.sessionID == phone.id)
      #expect(identity.assurance == .live)
      #expect(identity.hasAllScopes)
      #expect(identity.authenticatedAt != nil)
      let laptop = try await test.signIn(device: "laptop")
      #expect(await refusal(verifier, laptop.access) == nil)
      // Revoked, replaced, signed out, copied.
      _ = try await test.client.send("DELETE", "/v1/sessions/\(laptop.id)", token: phone.access)
      #expect(await eventually { await refusal(verifier, laptop.access) == .sessionEnded })
      let again = try await test.signIn(device: "phone")
      _ = try await test.client.get("/v1/me", token: again.access)
      #expect(await eventually { await refusal(verifier, phone.access) == .sessionEnded })
      let tablet = try await test.signIn(device: "tablet")
      _ = try await test.refresh(tablet.refresh, key: .fresh)
      _ = try await test.refresh(tablet.refresh, key: .fresh)
      #expect(await eventually { await refusal(verifier, tablet.access) == .sessionEnded })
      let last = try await test.signIn(device: "last")
      _ = try await test.client.post("/oauth/revoke", form: "token=\(last.handle)")
      #expect(await eventually { await refusal(verifier, last.access) == .sessionEnded })
      let watch = try await test.signIn(device: "watch")
      test.clock.advance(by: .seconds(611))
      guard case .tokenExpired? = await refusal(verifier, watch.access) else {
        Issue.record("an expired token is not refused as one")
        return
      }
    }
  }

  @Test func `knows an old end after it was away, and asks while the feed is lost`() async throws {
    try await Self.run(whenLost: .introspect) { test, verifier async throws in
      let phone = try await test.signUp(device: "phone")
      let laptop = try await test.signIn(device: "laptop")
      #expect(await refusal(verifier, laptop.access) == nil)
      // The store fails, and with it the feed; introspection cannot answer either.
      test.store.fail(.all)
      #expect(await eventually { test.metrics.openFeeds == 0 })
      test.store.fail(.none)
      _ = try await test.client.send("DELETE", "/v1/sessions/\(laptop.id)", token: phone.access)
      #expect(await eventually { await refusal(verifier, laptop.access) == .sessionEnded })
      #expect(await refusal(verifier, phone.access) == nil)
    }
  }

  @Test func `refuses a signature that is not the issuer's`() async throws {
    try await Self.run { test, verifier async throws in
      let phone = try await test.signUp(device: "phone")
      #expect(await refusal(verifier, phone.access) == nil)
      #expect(await refusal(verifier, String(phone.access.dropLast(4)) + "AAAA") == .tokenInvalid(.signature))
    }
  }

  /// The issuer restarts with a new key, and its tokens of the previous one are still there; then that key is retired.
  @Test func `follows a rotation of keys`() async throws {
    let previous = SigningKeys()
    let both = previous.rotated()
    let uptime = Locked(Duration.seconds(1000))
    let issuer = MovingServer()
    var configuration = VerifierConfiguration(
      issuer: "https://id.example.org", audiences: ["https://id.example.org"], firstPartyClients: ["handstamp"])
    configuration.clock = VerifierClock(now: VerifierClock.system.now, uptime: { uptime.withLock { $0 } })
    let verifier = try TokenVerifier(configuration, transport: issuer)
    var (first, second) = ("", "")
    try await TestServer.run(keys: previous) { test async throws in
      issuer.move(to: test.client.base)
      first = try await test.signUp().access
      #expect(await refusal(verifier, first) == nil)
    }
    try await TestServer.run(keys: both) { test async throws in
      issuer.move(to: test.client.base)
      second = try await test.signUp().access
      uptime.withLock { $0 += .seconds(11) }
      #expect(await refusal(verifier, second) == nil)
      #expect(await refusal(verifier, first) == nil)
    }
    let only = try #require(both.without(previous.ids[0]))
    try await TestServer.run(keys: only) { test async throws in
      issuer.move(to: test.client.base)
      // The verifier asks again when the keys' time is over.
      uptime.withLock { $0 += .seconds(8000) }
      #expect(await refusal(verifier, second) == nil)
      #expect(await refusal(verifier, first) == .tokenInvalid(.unknownKey))
    }
  }
}

/// Sends requests for the issuer's public address to where it is now.
private struct MovingServer: Transport {
  private let base = Locked("")
  private let transport = PatientTransport()

  func move(to base: String) { self.base.withLock { $0 = base } }

  private func moved(_ request: TransportRequest) -> TransportRequest {
    var request = request
    request.url = base.withLock { $0 } + request.url.dropFirst("https://id.example.org".count)
    return request
  }

  func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    try await transport.send(moved(request))
  }
  func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    try await transport.open(moved(request))
  }
}
#endif
