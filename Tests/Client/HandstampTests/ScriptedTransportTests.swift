import Foundation
import Handstamp
import HandstampTesting
import Testing

@MainActor @Suite(.timeLimit(.minutes(10))) struct `A scripted server of an app's API` {
  private struct Me: Codable, Hashable { var name: String }

  private struct Sync: Endpoint {
    var path: APIPath { "/v1/sync" }
    var retryPolicy: RetryPolicy? { RetryPolicy(attempts: 2, base: .seconds(1), cap: .seconds(1)) }
  }

  @Test func `answers the manager of a session test`() async throws {
    let test = try SessionTest()
    try await test.signIn("ada")
    let server = ScriptedTransport(["GET /v1/me": #"{"name":"Ada"}"#])
    let session = await test.manager(transport: server) { api in try await api.get("/v1/me", as: Me.self).name }
    #expect(session.isAuthenticated)
    await othersFirst { session.snapshot.content.value != nil }
    #expect(session.snapshot.content.value == "Ada")
    #expect(server.requests.map(\.method) == ["GET"])
    #expect(server.requests.first?.headers.contains { $0.name == "Authorization" } == true)
  }

  @Test func `is asked again when the test moves the clock`() async throws {
    let test = try SessionTest()
    try await test.signIn("ada")
    let server = ScriptedTransport()
    server.fail("GET /v1/sync", with: .timedOut)
    let session = await test.manager(transport: server) { _ in }
    async let call = session.api.send(Sync())
    await test.clock.sleepers(1)
    #expect(server.requests.count == 1)
    server.answer("GET /v1/sync", json: "{}")
    test.clock.advance(by: .seconds(1))
    _ = try await call
    #expect(server.requests.count == 2)
  }

  @Test func `starts a session test signed out, and signs in`() async throws {
    let test = try SessionTest()
    let session = await test.manager { _ in }
    #expect(!session.isAuthenticated)
    try await session.signIn { try await test.server.signIn("ada") }
    #expect(session.currentUser?.name == "ada")
  }

  @Test func `answers as the test says, and with 404 otherwise`() async throws {
    let test = try SessionTest()
    try await test.signIn("ada")
    let server = ScriptedTransport()
    let api = await test.manager(transport: server) { _ in }.api
    await #expect(throws: APIError.status(404, nil)) { _ = try await api.get("/v1/me", as: Me.self) }
    server.answer("GET /v1/me", status: 403, json: #"{"code":"no_seats"}"#)
    await #expect(throws: APIError.status(403, Problem(code: "no_seats"))) {
      _ = try await api.get("/v1/me", as: Me.self)
    }
    server.fail("POST /v1/posts", with: .invalidRequest("x"))
    await #expect(throws: APIError.network(.invalidRequest("x"))) {
      try await api.post("/v1/posts", body: Me(name: "x"))
    }
  }
}
