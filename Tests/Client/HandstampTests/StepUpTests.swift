import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `An API that demands a proof of the user` {
  private let backend = ScriptedBackend.rotating()
  private static let challenge =
    #"DPoP algs="ES256", Bearer error="insufficient_user_authentication", acr_values="phr x", max_age="300""#

  private typealias Asked = (acr: [String], age: Duration?)
  private typealias Ask = @Sendable ([String], Duration?) async throws(SessionError) -> AccessToken?

  /// A client at an API that carries out requests with the token `proof` alone.
  private func client(
    _ stepUp: Ask?
  ) async throws -> (APIClient, StubTransport) {
    let clock = ManualClock()
    let controller = SessionController(backend: backend, vault: MemoryVault(), policy: quiet, clock: clock)
    try await controller.signIn { .sample(0) }
    clock.advance(by: .seconds(60))
    let transport = StubTransport { request in
      let isProven = request.headers.first(named: "Authorization") == "Bearer proof"
      return .init(
        status: isProven ? 200 : 401, headers: [HeaderField("WWW-Authenticate", Self.challenge)],
        body: Array(#"{"code":"insufficient_user_authentication","title":"Confirm that it is you"}"#.utf8))
    }
    var options = APIClient.Options(retryPolicy: RetryPolicy(attempts: 1))
    options.stepUp = stepUp
    return (APIClient(baseURL: base, controller: controller, transport: transport, options: options), transport)
  }

  private func sent(_ transport: StubTransport) async -> [String?] {
    await transport.requests().map { $0.headers.first(named: "Authorization") }
  }

  private static let refusal = APIError.status(
    401, Problem(title: "Confirm that it is you", code: "insufficient_user_authentication"))

  @Test func `asks once, gets the request again once, and keeps the session`() async throws {
    let asked = Locked<[Asked]>([])
    let (api, transport) = try await client { acr, age in
      asked.withLock { $0.append((acr, age)) }
      return AccessToken("proof")
    }
    _ = try await api.send(Anything())
    #expect(await sent(transport) == ["Bearer access-s1-0", "Bearer proof"])
    let questions = asked.withLock { $0 }
    #expect(questions.count == 1 && questions.first?.acr == ["phr", "x"] && questions.first?.age == .seconds(300))
    #expect(backend.calls.isEmpty, "no refresh would help")
    #expect(api.controller.state.isSignedIn)
    #expect(try await api.controller.token().text == "access-s1-0")
  }

  @Test func `gets it no third time`() async throws {
    let count = Locked(0)
    let (api, transport) = try await client { _, _ in
      count.withLock { $0 += 1 }
      return AccessToken("not enough")
    }
    await #expect(throws: Self.refusal) { try await api.send(Anything()) }
    #expect(await sent(transport) == ["Bearer access-s1-0", "Bearer not enough"])
    #expect(count.withLock { $0 } == 1)
    #expect(api.controller.state.isSignedIn)
  }

  @Test func `has its word passed on without a way to ask, or if the user declines`() async throws {
    let declining: Ask = { _, _ in nil }
    for ask in [nil, declining] {
      let (api, transport) = try await client(ask)
      await #expect(throws: Self.refusal) { try await api.send(Anything()) }
      #expect(await sent(transport) == ["Bearer access-s1-0"])
      #expect(api.controller.state.isSignedIn)
    }
    let (api, _) = try await client { _, _ throws(SessionError) in throw .cancelled }
    await #expect(throws: APIError.session(.cancelled)) { try await api.send(Anything()) }
    #expect(backend.calls.isEmpty && api.controller.state.isSignedIn)
  }

  @Test func `hears nothing more after a sign-out in the meantime`() async throws {
    let controllers = Locked<SessionController?>(nil)
    let (api, transport) = try await client { _, _ in
      await controllers.withLock { $0 }?.signOut()
      return AccessToken("proof")
    }
    controllers.withLock { $0 = api.controller }
    await #expect(throws: APIError.self) { try await api.send(Anything()) }
    #expect(await sent(transport) == ["Bearer access-s1-0"])
  }
}
