import Foundation
import Handstamp
import HandstampTesting
import Testing

/// A backend that knows its server's address.
private struct AuthorityBackend: Backend {
  var authority: String?
  var abilities: BackendAbilities { BackendAbilities(supportsRotationKeys: true, sessionEndingOrigin: authority) }
  var issuer = ScriptedBackend.rotating()

  @concurrent func refresh(_ request: RefreshRequest) async -> RefreshResult {
    await issuer.refresh(request)
  }
  @concurrent func revoke(_ handle: RevocationHandle) async -> RevocationResult { await issuer.revoke(handle) }
}

@Suite(.timeLimit(.minutes(10))) struct `An API response that the session ended` {
  private static let ended = Array(#"{"title":"over","code":"session_ended","reason":"revoked"}"#.utf8)
  private let clock = ManualClock()

  private func client(
    authority: String?, body: [UInt8] = ended, age: Duration = .seconds(1)
  ) async throws -> (api: APIClient, transport: StubTransport) {
    let controller = SessionController(
      backend: AuthorityBackend(authority: authority), vault: MemoryVault(), policy: quiet, clock: clock)
    try await controller.signIn { .sample(0) }
    clock.advance(by: age)
    let transport = StubTransport { _ in .init(status: 401, body: body) }
    return (APIClient(baseURL: base, controller: controller, transport: transport), transport)
  }

  @Test(arguments: [Duration.seconds(1), .seconds(60)])
  func `ends it with the server's reason, even seconds after the token was issued`(age: Duration) async throws {
    let host = try #require(base.host())
    let (api, transport) = try await client(authority: "https://\(host.uppercased()):443/auth", age: age)
    await #expect(throws: APIError.session(.sessionEnded(.revoked))) { try await api.send(Anything()) }
    #expect(api.controller.state == .signedOut(.revoked))
    #expect(await transport.requests().count == (age < .seconds(5) ? 1 : 2))
  }

  @Test(arguments: [nil, "https://id.example.org", "http://HOST", "https://HOST:8443"])
  func `is trusted only from the session's own server`(authority: String?) async throws {
    let host = try #require(base.host())
    let (api, _) = try await client(authority: authority?.replacing("HOST", with: host))
    await #expect(throws: APIError.session(.tokenRejected)) { try await api.send(Anything()) }
    #expect(api.controller.state.isSignedIn)
  }

  @Test(arguments: ["", "<html>", "{}", #"{"code":"token_invalid","reason":"revoked"}"#])
  func `must be explicit`(body: String) async throws {
    let (api, _) = try await client(authority: base.absoluteString, body: Array(body.utf8))
    await #expect(throws: APIError.session(.tokenRejected)) { try await api.send(Anything()) }
    #expect(api.controller.state.isSignedIn)
  }

  @Test(arguments: [(#""Google""#, "Google"), ("{}", nil)])
  func `at a provider names it, also after a restart`(member: String, name: String?) async throws {
    let (vault, backend) = (MemoryVault(), AuthorityBackend(authority: base.absoluteString))
    let controller = SessionController(backend: backend, vault: vault, policy: quiet, clock: clock)
    try await controller.signIn { .sample(0) }
    clock.advance(by: .seconds(1))
    let body = #"{"code":"session_ended","reason":"ended_at_provider","provider":\#(member)}"#
    let transport = StubTransport { _ in .init(status: 401, body: Array(body.utf8)) }
    let api = APIClient(baseURL: base, controller: controller, transport: transport)
    let reason = EndReason.endedAtProvider(name)
    await #expect(throws: APIError.session(.sessionEnded(reason))) { try await api.send(Anything()) }
    let next = SessionController(backend: backend, vault: vault, policy: quiet, clock: clock)
    #expect(await first(next.states) { $0.isSignedOut } == .signedOut(reason))
  }

  @Test func `and an event of the feed name the provider`() {
    let event = ServerSentEvent(
      name: "session-revoked", data: #"{"sid":"s1","reason":"ended_at_provider","provider":"Google"}"#)
    #expect(SessionEvent(event)?.reason == .endedAtProvider("Google"))
  }

  @Test func `with an unknown reason ends it all the same`() async throws {
    let (api, _) = try await client(
      authority: base.absoluteString, body: Array(#"{"code":"session_ended","reason":"tea time"}"#.utf8))
    await #expect(throws: APIError.session(.sessionEnded(.rejected))) { try await api.send(Anything()) }
  }
}
