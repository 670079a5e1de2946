import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
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

  @Test func `are renamed, whatever the session's id`() async throws {
    let transport = StubTransport { [requests] request in
      requests.withLock { $0.append(request) }
      return .init(status: 204)
    }
    let backend = ServerBackend(baseURL: base, device: .init(id: DeviceID("d"), name: "d"), transport: transport)
    try await backend.renameDevice(of: SessionID("../me?x"), to: "Phone", token: AccessToken("t"))
    await #expect(throws: SessionError.refused(code: "not_found", detail: nil)) {
      try await backend.renameDevice(of: SessionID(".."), to: "Phone", token: AccessToken("t"))
    }
    let sent = requests.withLock { $0 }
    #expect(sent.map(\.method) == ["PATCH"])
    #expect(sent.allSatisfy { $0.url.hasSuffix("/v1/sessions/..%2Fme%3Fx") })
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

  /// A server that ends other sessions for the token `proof` alone, until it is told that the proof is too old.
  @Test func `are ended with the token that a reauthentication gave, while it is good for it`() async throws {
    let (isOld, tokens) = (Locked(false), Locked<[String]>([]))
    let transport = StubTransport { request in
      let token = request.headers.first(named: "Authorization")?.replacing("Bearer ", with: "") ?? ""
      if request.url.hasSuffix("/v1/reauthenticate") {
        #expect(token != "proof")
        return .init(status: 200, headers: [], body: Array(#"{"access_token":"proof","more":1}"#.utf8))
      }
      tokens.withLock { $0.append(token) }
      guard token == "proof", !isOld.withLock({ $0 }) else {
        return .init(status: 403, headers: [], body: Array(#"{"code":"reauthentication_required","title":1}"#.utf8))
      }
      return .init(status: 204, headers: [], body: [])
    }
    let controller = SessionController(backend: ScriptedBackend.rotating(), vault: MemoryVault(), policy: quiet)
    try await controller.signIn { .sample(0) }
    let backend = ServerBackend(baseURL: base, device: .init(id: DeviceID("d"), name: "d"), transport: transport)
    let service = ServerDevices(backend, controller: controller)
    let own = try await controller.token().secret.withExposed { $0 }
    let refusal = SessionError.refused(code: "reauthentication_required", detail: nil)
    await #expect(throws: refusal) { try await service.end(SessionID("s")) }

    try await service.reauthenticate(.password(Secret("right")))
    try await service.end(SessionID("s"))
    try await service.endOthers()
    isOld.withLock { $0 = true }
    await #expect(throws: refusal) { try await service.endOthers() }
    await #expect(throws: refusal) { try await service.endOthers() }
    #expect(tokens.withLock { $0 } == [own, "proof", "proof", "proof", own, own])

    // The proof of one session is of no use to the next.
    isOld.withLock { $0 = false }
    try await service.reauthenticate(.password(Secret("right")))
    await controller.signOut()
    await #expect(throws: SessionError.signedOut(.signedOut)) { try await service.endOthers() }
    try await controller.signIn { .sample(1, session: "s2") }
    await #expect(throws: refusal) { try await service.endOthers() }
    #expect(tokens.withLock { $0.last } != "proof")
  }

  /// A server that has asked for the code of an authenticator app, after the right password.
  @Test func `are ended with the password alone, once, if the code is missing`() async throws {
    let bodies = Locked<[String]>([])
    let transport = StubTransport { request in
      let body = String(decoding: request.body, as: UTF8.self)
      bodies.withLock { $0.append(body) }
      let refusal = request.url.hasSuffix("/v1/reauthenticate") ? "second_factor_required" : "reauthentication_required"
      guard !request.url.hasSuffix("/end-others") || body.isEmpty else { return .init(status: 200) }
      return .init(status: 403, headers: [], body: Array(#"{"code":"\#(refusal)","title":1}"#.utf8))
    }
    let controller = SessionController(backend: ScriptedBackend.rotating(), vault: MemoryVault(), policy: quiet)
    try await controller.signIn { .sample(0) }
    let backend = ServerBackend(baseURL: base, device: .init(id: DeviceID("d"), name: "d"), transport: transport)
    let service = ServerDevices(backend, controller: controller)
    let refusal = SessionError.refused(code: "reauthentication_required", detail: nil)
    await #expect(throws: refusal) { try await service.endOthers() }
    try await service.reauthenticate(.password(Secret("right")))
    try await service.endOthers()
    await #expect(throws: refusal) { try await service.endOthers() }
    #expect(bodies.withLock { $0 } == ["", #"{"password":"right"}"#, #"{"password":"right"}"#, ""])
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
