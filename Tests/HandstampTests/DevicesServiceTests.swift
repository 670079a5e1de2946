import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import HandstampVaults
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The devices of an account` {
  private let requests = Locked<[TransportRequest]>([])

  private func devices(_ status: Int, _ body: String) async throws -> ServerDevices {
    let transport = StubTransport { [requests] request in
      requests.withLock { $0.append(request) }
      return .init(status: status, headers: [HeaderField("Content-Type", "application/json")], body: Array(body.utf8))
    }
    let controller = SessionController(backend: ScriptedBackend.rotating(), vault: MemoryVault(), policy: quiet)
    try await controller.signIn { .sample(0) }
    let backend = ServerBackend(baseURL: base, device: .init(id: DeviceID("d"), name: "d"), transport: transport)
    return ServerDevices(backend, controller: controller)
  }

  @Test func `are returned as the server lists them`() async throws {
    let service = try await devices(
      200,
      """
      {"sessions":[{"id":"s1","current":true,"device":{"id":"d","name":"Mac","platform":"macOS"},"created_at_ms":1000,
      "last_seen_at_ms":2000,"more":1}]}
      """)
    let list = try await service.devices()
    let expected = DeviceSession(
      id: SessionID("s1"), isCurrent: true, name: "Mac", platform: "macOS", startedAt: UnixTime(milliseconds: 1000),
      lastSeenAt: UnixTime(milliseconds: 2000))
    #expect(list == [expected])
    let request = try #require(requests.withLock { $0.first })
    #expect(request.method == "GET" && request.url.hasSuffix("/v1/sessions"))
    #expect(request.headers.first(named: "Authorization")?.hasPrefix("Bearer ") == true)
  }

  @Test func `are ended one by one, whatever the session's id, or all others at once`() async throws {
    let service = try await devices(204, "")
    try await service.end(SessionID("s-1"))
    try await service.end(SessionID("../me?x"))
    try await service.endOthers()
    let sent = requests.withLock {
      $0.map { "\($0.method) \($0.url.suffix(from: $0.url.range(of: "/v1")?.lowerBound ?? $0.url.startIndex))" }
    }
    #expect(sent == ["DELETE /v1/sessions/s-1", "DELETE /v1/sessions/..%2Fme%3Fx", "POST /v1/sessions/end-others"])
  }

  @Test(arguments: ["", ".", ".."]) func `whose id would name another path are unknown`(_ id: String) async throws {
    let service = try await devices(204, "")
    await #expect(throws: SessionError.refused(code: "not_found", detail: nil)) {
      try await service.end(SessionID(id))
    }
    #expect(requests.withLock { $0.isEmpty })
  }

  @Test(arguments: [(200, "<html>"), (200, "{}"), (404, "{\"code\":\"not_found\"}"), (503, "")])
  func `that cannot be fetched throw an error`(status: Int, body: String) async throws {
    let service = try await devices(status, body)
    await #expect(throws: SessionError.self) { try await service.devices() }
    if status != 200 { await #expect(throws: SessionError.self) { try await service.end(SessionID("s")) } }
  }

  @Test func `are not requested while signed out`() async throws {
    let controller = SessionController(backend: ScriptedBackend.rotating(), vault: MemoryVault(), policy: quiet)
    let backend = ServerBackend(
      baseURL: base, device: .init(id: DeviceID("d"), name: "d"), transport: StubTransport { _ in .init(status: 200) })
    await #expect(throws: SessionError.signedOut(nil)) {
      try await ServerDevices(backend, controller: controller).devices()
    }
  }
}
