import Foundation
import Handstamp
import HandstampTesting
import Testing

/// An in-memory token endpoint behind a transport.
private struct TokenEndpoint: Transport {
  let server: TestServer

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    let form = form(request.body)
    if request.url.hasSuffix("/oauth/revoke") {
      let result = await server.revoke(RevocationHandle(form["token"] ?? ""))
      return .init(status: result == .ended ? 200 : 503)
    }
    guard let key = RotationKey(wireText: form["rotation_key"] ?? "") else {
      return refusal("invalid_request")
    }
    switch await server.refresh(RefreshRequest(token: RefreshToken(form["refresh_token"] ?? ""), key: key)) {
    case .granted(let grant):
      let access = grant.tokens.credential.secret.withExposed { $0 }
      let refresh = grant.tokens.refresh?.secret.withExposed { $0 } ?? ""
      let text =
        #"{"access_token":"\#(access)","token_type":"Bearer","expires_in":600,"refresh_token":"\#(refresh)","#
        + #""session_id":"\#(grant.sessionID?.rawValue ?? "")"}"#
      return .init(status: 200, body: Array(text.utf8))
    case .rejected: return refusal("invalid_grant")
    case .superseded, .noDecision: return .init(status: 503)
    }
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    throw .connectionLost("streams are not supported")
  }

  private func refusal(_ error: String) -> TransportResponse {
    .init(status: 400, body: Array(#"{"error":"\#(error)"}"#.utf8))
  }

  private func form(_ body: [UInt8]) -> [String: String] {
    var parts = URLComponents()
    parts.percentEncodedQuery = String(decoding: body, as: UTF8.self)
    return (parts.queryItems ?? []).reduce(into: [:]) { $0[$1.name] = $1.value }
  }
}

/// Reports the write-ahead of a sign-in as done, and stores none.
private struct Forgetful: Vault {
  private let base = MemoryVault()

  @concurrent func load() async -> VaultReading { await base.load() }

  @concurrent func replace(
    _ revision: UInt64, with entry: VaultEntry, as write: VaultWrite
  ) async throws(VaultError) -> VaultReplacement {
    if let signIn = entry.signIn, case .value(let found) = await base.load(), found.revision == revision,
      found.signIn != signIn
    {
      return .done
    }
    return try await base.replace(revision, with: entry, as: write)
  }

  @concurrent func lock(_ kind: VaultLockKind, within limit: Duration) async throws(VaultError) -> any VaultLock {
    try await base.lock(kind, within: limit)
  }

  func changes() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
}

/// Treats every refusal as definitive, as many clients do.
private struct Gullible: Backend {
  let transport: any Transport
  let server: TestServer

  var abilities: BackendAbilities { BackendAbilities(supportsRotationKeys: true) }

  @concurrent func refresh(_ request: RefreshRequest) async -> RefreshResult {
    do throws(TransportError) {
      let answer = try await transport.send(TransportRequest(method: "POST", url: "https://example.org/oauth/token"))
      guard answer.status < 400 else { return .rejected(.rejected) }
    } catch { return .noDecision(.network(.timedOut)) }
    return await server.refresh(request)
  }

  @concurrent func revoke(_ handle: RevocationHandle) async -> RevocationResult { await server.revoke(handle) }
}

@Suite(.timeLimit(.minutes(10))) struct `The test kit` {
  private let clock = ManualClock()

  @Test func `checkBackend passes our own backend`() async throws {
    let server = try TestServer(clock: clock)
    try await checkBackend(over: TokenEndpoint(server: server)) { transport in
      ServerBackend(
        baseURL: base, device: ServerBackend.Device(id: DeviceID("d"), name: "d"), transport: transport)
    } signIn: { _ in
      try await server.signIn("ada")
    }
  }

  @Test func `checkBackend detects a backend that trusts garbage`() async throws {
    let server = try TestServer(clock: clock)
    let thrown = await #expect(throws: ConformanceError.self) {
      try await checkBackend(over: StubTransport { _ in .init(status: 200) }) { transport in
        Gullible(transport: transport, server: server)
      } signIn: { _ in
        try await server.signIn("ada")
      }
    }
    #expect(thrown?.promise == "garbage decides nothing")
  }

  @MainActor @Test func `an API alone keeps its session, and the server that issues its tokens`() async throws {
    struct Me: Decodable, Sendable { let name: String }
    @MainActor func make() async throws -> (APIClient, ManualClock) {
      let test = try SessionTest()
      try await test.signIn("ada")
      let api = ScriptedTransport(["GET /v1/me": #"{"name":"Ada"}"#])
      let session = await test.manager(transport: api) { _ in }
      return (session.api, test.clock)
    }
    let (api, clock) = try await make()
    clock.advance(by: .seconds(3600))
    #expect(try await api.get("/v1/me", as: Me.self).name == "Ada")
  }

  @Test func `checkVault detects a vault that reports one kind of edit without making it`() async throws {
    let thrown = await #expect(throws: ConformanceError.self) { try await checkVault { Forgetful() } }
    #expect(thrown?.promise.contains("rules") == true, "\(thrown.map { "\($0)" } ?? "")")
  }

  @Test func `a lossy network follows its script, then its seed`() async throws {
    let sent = StubTransport { _ in .init(status: 200) }
    let network = LossyTransport(sent, seed: 7, odds: .bad, clock: clock)
    let request = TransportRequest(method: "GET", url: "https://example.org")
    for fate in [LossyTransport.Fate.requestLost, .responseLost] {
      network.expect(fate)
      await #expect(throws: TransportError.timedOut) { try await network.send(request) }
    }
    network.expect(.doubled)
    #expect(try await network.send(request).status == 200)
    network.expect(.answered(.init(status: 502)))
    #expect(try await network.send(request).status == 502)
    #expect(await sent.requests().count == 4)
    network.expect(.delayed(.seconds(3)))
    async let late = network.send(request)
    await clock.sleepers(1)
    #expect(await sent.requests().count == 4)
    clock.advance(by: .seconds(3))
    #expect(try await late.status == 200)

    let twin = LossyTransport(sent, seed: 7, odds: .bad)
    let rest = LossyTransport(sent, seed: 7, odds: .bad)
    for _ in 0..<50 {
      _ = try? await twin.send(request)
      _ = try? await rest.send(request)
    }
    #expect(twin.fates == rest.fates)
    #expect(Set(twin.fates).count == 4)
  }

  @Test func `a session survives a network that loses half of all messages`() async throws {
    let server = try TestServer(clock: clock)
    let network = LossyTransport(TokenEndpoint(server: server), seed: 3, odds: .bad)
    let backend = ServerBackend(
      baseURL: base, device: ServerBackend.Device(id: DeviceID("d"), name: "d"), transport: network)
    let patient = SessionPolicy(
      refresh: RefreshPolicy(usesTimer: false), retry: RetryPolicy(attempts: 100, base: .zero))
    let session = SessionController(backend: backend, vault: MemoryVault(), policy: patient, clock: clock)
    try await session.signIn { try await server.signIn("ada") }
    for _ in 0..<30 {
      clock.advance(by: .seconds(601))
      _ = try await session.token()
    }
    #expect(await server.rotations == 30)
    #expect(network.fates.contains(.responseLost))
  }

  @Test func `a faulty vault can be slow, full or torn`() async throws {
    let vault = FaultyVault(MemoryVault(), clock: clock)
    let session = VaultSamples.session()
    _ = await vault.edit(.begin(session))
    await vault.set { $0.delay = .seconds(3) }
    async let slow = vault.read()
    await clock.sleepers(1)
    clock.advance(by: .seconds(3))
    guard case .value = await slow else {
      Issue.record("a slow vault did not answer")
      return
    }
    await vault.set { $0 = .full }
    #expect(await vault.edit(.touch(session.id, at: clock.now())) == .failed(.unavailable("no space left")))
    await vault.set { $0 = .init() }
    await vault.tear()
    #expect(await vault.read() == .trouble(.corrupt))
    #expect(await vault.edit(.touch(session.id, at: clock.now())) == .failed(.corrupt))
    guard case .done(let entry) = await vault.edit(.begin(VaultSamples.session("s2"))) else {
      Issue.record("a sign-in did not replace the torn entry")
      return
    }
    #expect(entry.session?.id == SessionID("s2"))
  }
}
