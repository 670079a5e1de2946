import Foundation
import Handstamp
import HandstampTesting
import HandstampVaults
import Testing

/// A backend that knows where its server is.
private struct AuthorityBackend: Backend {
  var authority: String?
  var issuer = ScriptedBackend.rotating()

  @concurrent func refresh(_ token: RefreshToken, key: RotationKey) async -> Result<Grant, RefreshFailure> {
    await issuer.refresh(token, key: key)
  }
  @concurrent func revoke(_ handle: RevocationHandle) async throws(SessionError) { try await issuer.revoke(handle) }
}

@Suite struct `An API's word that the session is over` {
  private static let ended = Array(#"{"title":"over","code":"session_ended","reason":"revoked"}"#.utf8)
  private let clock = ManualClock()

  private func client(
    authority: String?, body: [UInt8] = ended, age: Duration = .seconds(1)
  ) async throws -> (api: APIClient, transport: StubTransport) {
    let controller = SessionController(
      vault: MemoryVault(), backend: AuthorityBackend(authority: authority), policy: quiet, clock: clock)
    try await controller.signIn { .sample(0) }
    clock.advance(by: age)
    let transport = StubTransport { _ in .init(status: 401, body: body) }
    return (APIClient(baseURL: base, controller: controller, transport: transport), transport)
  }

  @Test(arguments: [Duration.seconds(1), .seconds(60)])
  func `ends it with the server's reason, also seconds after the token was minted`(age: Duration) async throws {
    let (api, transport) = try await client(authority: "https://API.example.org:443/auth", age: age)
    await #expect(throws: APIError.unauthorized(.rejected(.revoked))) { try await api.send(Anything()) }
    #expect(api.controller.state == .signedOut(.revoked))
    #expect(await transport.requests().count == (age < .seconds(5) ? 1 : 2))
  }

  @Test(arguments: [nil, "https://id.example.org", "http://api.example.org", "https://api.example.org:8443"])
  func `is not believed of anyone but the session's own server`(authority: String?) async throws {
    let (api, _) = try await client(authority: authority)
    await #expect(throws: APIError.unauthorized(.tokenRefused)) { try await api.send(Anything()) }
    #expect(api.controller.state.isSignedIn)
  }

  @Test(arguments: ["", "<html>", "{}", #"{"code":"token_invalid","reason":"revoked"}"#])
  func `must be said in so many words`(body: String) async throws {
    let (api, _) = try await client(authority: base.absoluteString, body: Array(body.utf8))
    await #expect(throws: APIError.unauthorized(.tokenRefused)) { try await api.send(Anything()) }
    #expect(api.controller.state.isSignedIn)
  }

  @Test func `with a reason nobody knows is an end all the same`() async throws {
    let (api, _) = try await client(
      authority: base.absoluteString, body: Array(#"{"code":"session_ended","reason":"tea time"}"#.utf8))
    await #expect(throws: APIError.unauthorized(.rejected(.rejected))) { try await api.send(Anything()) }
  }
}
