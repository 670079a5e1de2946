import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@MainActor @Suite(.timeLimit(.minutes(10))) struct `The passkeys of an account` {
  private let requests = Locked<[TransportRequest]>([])
  private nonisolated static let list = #"""
    {"rp_id":"example.org","user_handle":"AQI","user_name":"ada@example.org","passkeys":[{"id":"k1","name":"Phone",
    "created_at":"2026-01-01T00:00:00Z","created_at_ms":1000,"last_used_at_ms":2000,"more":1},
    {"id":"k2","name":"Mac","created_at_ms":3000}]}
    """#

  private func session(_ answer: @escaping @Sendable (TransportRequest) -> TransportResponse?) async throws
    -> SessionManager<String>
  {
    let transport = StubTransport { [requests] request in
      requests.withLock { $0.append(request) }
      return answer(request) ?? .init(status: 204)
    }
    let backend = ServerBackend(baseURL: base, device: .init(id: DeviceID("d"), name: "d"), transport: transport)
    let session = SessionManager(
      backend: backend, vault: MemoryVault(), baseURL: base, transport: transport, policy: quiet, clock: ManualClock()
    ) { _ in "content" }
    try await session.signIn { .sample(0) }
    return session
  }

  private nonisolated static func json(_ text: String, _ status: Int = 200) -> TransportResponse {
    .init(status: status, headers: [HeaderField("Content-Type", "application/json")], body: Array(text.utf8))
  }

  /// The requests about passkeys, with their bearer tokens.
  private var sent: [String] {
    requests.withLock { $0 }.filter { $0.url.contains("passkey") }.map { request in
      let path = request.url.range(of: "/v1").map { String(request.url[$0.lowerBound...]) } ?? request.url
      return "\(request.method) \(path) \(request.headers.first(named: "Authorization") ?? "-")"
    }
  }

  @Test func `are listed as the server has them`() async throws {
    let session = try await session { _ in Self.json(Self.list) }
    let list = try await session.passkeys()
    #expect(
      list
        == PasskeyList(
          passkeys: [
            .init(
              id: "k1", name: "Phone", createdAt: UnixTime(milliseconds: 1000),
              lastUsedAt: UnixTime(milliseconds: 2000)),
            .init(id: "k2", name: "Mac", createdAt: UnixTime(milliseconds: 3000)),
          ], domain: "example.org", user: [1, 2]))
  }

  @Test func `are added with the device's answer, and with a proof if there is one`() async throws {
    let session = try await session { request in
      request.url.hasSuffix("/options") ? Self.json("options") : Self.json(Self.list, 201)
    }
    let list = try await session.addPasskey(proof: AccessToken("proof")) { options throws(SessionError) in
      options + Array(" answered".utf8)
    }
    #expect(list.passkeys.map(\.id) == ["k1", "k2"])
    #expect(sent == ["POST /v1/passkeys/options Bearer proof", "POST /v1/passkeys Bearer proof"])
    let body = requests.withLock { $0 }.last { $0.url.hasSuffix("/v1/passkeys") }?.body
    #expect(body.map { String(decoding: $0, as: UTF8.self) } == #"{"passkey":"options answered"}"#)
  }

  @Test func `are asked for on the device only if the server will take one`() async throws {
    let session = try await session { _ in
      .init(
        status: 403, headers: [HeaderField("Content-Type", "application/problem+json")],
        body: Array(#"{"code":"reauthentication_required","title":"Confirm"}"#.utf8))
    }
    let isAsked = Locked(false)
    let refusal = await #expect(throws: SessionError.self) {
      try await session.addPasskey { options throws(SessionError) in
        isAsked.withLock { $0 = true }
        return options
      }
    }
    guard case .refused(code: "reauthentication_required", _)? = refusal else { throw refusal ?? .cancelled }
    #expect(!isAsked.withLock { $0 })
  }

  @Test func `are removed one by one, whatever their ids`() async throws {
    let session = try await session { _ in Self.json(Self.list) }
    try await session.removePasskey("../me?x", proof: AccessToken("proof"))
    #expect(sent == ["DELETE /v1/passkeys/..%2Fme%3Fx Bearer proof"])
  }

  @Test func `are those of Handstamp's own server alone`() async throws {
    let session = SessionManager(
      backend: ScriptedBackend.rotating(), vault: MemoryVault(), baseURL: base,
      transport: StubTransport { _ in .init(status: 200) }, policy: quiet, clock: ManualClock()
    ) { _ in "content" }
    await #expect(throws: SessionError.unsupported("passkeys")) { try await session.passkeys() }
  }

  @Test func `begin a sign-in when the device has answered, and not while it waits for the user`() async throws {
    let session = try await session { request in
      request.url.hasSuffix("/options") ? Self.json("{}") : nil
    }
    let isWorking = Locked<Bool?>(nil)
    await #expect(throws: SessionError.cancelled) {
      try await session.signInWithPasskey { _ throws(SessionError) in
        let now = await session.snapshot.isWorking
        isWorking.withLock { $0 = now }
        throw .cancelled
      }
    }
    #expect(isWorking.withLock { $0 } == false)
    #expect(session.isAuthenticated)
  }
}
