import Foundation
import Handstamp
import HandstampTesting
import Testing

/// Each test has a host of its own: sessions of one host know of each other in the whole process, and the end of one leaves what
/// another may use.
var base: URL {
  let test = Test.current.map { UInt($0.id.hashValue.magnitude) } ?? 0
  return URL(string: "https://api\(test).example.org/base")!
}

struct Anything: Endpoint {
  var path: APIPath = "/v1/anything"
  var requiresAuth = true
}

struct GetMe: Endpoint {
  struct Response: Decodable, Sendable, Equatable { var name: String }
  var path: APIPath { "/v1/me" }
}

/// A transport that answers with a closure and records the requests.
final class StubTransport: Transport {
  private let answer: @Sendable (TransportRequest) async throws(TransportError) -> TransportResponse
  private let sent = Box()

  init(_ answer: @escaping @Sendable (TransportRequest) async throws(TransportError) -> TransportResponse) {
    self.answer = answer
  }

  func requests() async -> [TransportRequest] { await sent.requests }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    await sent.append(request)
    return try await answer(request)
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    throw .connectionLost("streams are not supported")
  }

  private actor Box {
    var requests: [TransportRequest] = []
    func append(_ request: TransportRequest) { requests.append(request) }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `An API client` {
  private let clock = ManualClock()
  private let backend = ScriptedBackend.rotating()

  private func client(
    _ answer: @escaping @Sendable (TransportRequest) async throws(TransportError) -> TransportResponse
  ) async throws -> (APIClient, StubTransport) {
    let controller = SessionController(backend: backend, vault: MemoryVault(), policy: quiet, clock: clock)
    try await controller.signIn { .sample(0) }
    clock.advance(by: .seconds(60))
    let transport = StubTransport(answer)
    return (
      APIClient(
        baseURL: base, controller: controller, transport: transport,
        options: .init(retryPolicy: RetryPolicy(attempts: 1))),
      transport
    )
  }

  @Test func `attaches the token and decodes the response`() async throws {
    let (api, transport) = try await client { _ in .init(status: 200, body: Array(#"{"name":"Ada","x":1}"#.utf8)) }
    #expect(try await api.send(GetMe()) == GetMe.Response(name: "Ada"))
    let request = try #require(await transport.requests().first)
    #expect(request.url == "\(base)/v1/me")
    #expect(request.headers.first(named: "authorization") == "Bearer access-s1-0")
  }

  @Test func `replaces a refused token and retries once`() async throws {
    let (api, transport) = try await client { request in
      let isNew = request.headers.first(named: "Authorization") == "Bearer access-s1-1"
      return .init(status: isNew ? 200 : 401, body: Array("{}".utf8))
    }
    _ = try await api.send(Anything())
    #expect(await transport.requests().count == 2)
    #expect(backend.calls.count == 1)
  }

  @Test func `gives up after the second refusal`() async throws {
    let (api, transport) = try await client { _ in .init(status: 401) }
    await #expect(throws: APIError.session(.tokenRejected)) { try await api.send(Anything()) }
    #expect(await transport.requests().count == 2)
    #expect(backend.calls.count == 1)
  }

  @Test func `sends only public calls without a session`() async throws {
    let (api, transport) = try await client { _ in .init(status: 200, body: Array("{}".utf8)) }
    await api.controller.signOut()
    await #expect(throws: APIError.session(.signedOut(.signedOut))) { try await api.send(Anything()) }
    #expect(await transport.requests().isEmpty)
    _ = try await api.send(Anything(requiresAuth: false))
    #expect(await transport.requests().first?.headers.first(named: "Authorization") == nil)
  }

  @Test(arguments: [
    "https://evil.example/base/v1", "http://HOST/", "https://HOST:8443/", "https://user@HOST/", "/v1/me", "",
  ])
  func `sends the token only to its own origin`(url: String) async throws {
    let (api, transport) = try await client { _ in .init(status: 200) }
    let url = url.replacing("HOST", with: try #require(base.host()))
    await #expect(throws: APIError.self) { try await api.response(to: TransportRequest(method: "GET", url: url)) }
    #expect(await transport.requests().isEmpty)
  }

  @Test func `turns statuses and malformed responses into typed errors`() async throws {
    let (api, _) = try await client { request in
      request.url.hasSuffix("me")
        ? .init(status: 200, body: Array(#"{"nome":"Ada"}"#.utf8))
        : .init(status: 404, body: Array(#"{"title":"not found","code":"no_such"}"#.utf8))
    }
    await #expect(throws: APIError.unreadable("missing: .name")) { try await api.send(GetMe()) }
    await #expect(throws: APIError.status(404, Problem(title: "not found", code: "no_such"))) {
      try await api.send(Anything())
    }
  }
  @Test(arguments: [
    (TransportError.connectionLost("connection refused"), Recovery?.some(.retry(after: nil))),
    (.timedOut, .retry(after: nil)),
    (.cancelled, nil), (.tooLarge, nil), (.invalidRequest("a header contains a line break"), nil),
  ])
  func `reports why there was no response, and keeps the session`(
    error: TransportError, recovery: Recovery?
  ) async throws {
    let (api, _) = try await client { _ throws(TransportError) in throw error }
    let thrown = await #expect(throws: APIError.network(error)) { try await api.send(Anything()) }
    #expect(thrown?.recovery == recovery)
  }
}
