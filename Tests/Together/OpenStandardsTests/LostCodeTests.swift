#if Programs
import Handstamp
import HandstampOAuth
import HandstampSupport
import HandstampTesting
import HandstampTransports
import Testing

/// Loses the first responses of the token endpoint that have tokens.
private final class LosingTokens: Transport {
  private let left: Locked<Int>
  init(_ count: Int) { left = Locked(count) }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    let response = try await AsyncHTTPTransport.shared.send(request)
    guard request.url.hasSuffix("/oauth/token"), response.status == 200 else { return response }
    let isLost = left.withLock { left in
      defer { left = max(0, left - 1) }
      return left > 0
    }
    if isLost { throw .timedOut }
    return response
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    try await AsyncHTTPTransport.shared.open(request)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A code whose tokens are lost on the way` {
  private func backend(_ server: OwnServer, losing count: Int, time: OAuthTime = .system) -> OAuthBackend {
    OAuthBackend(
      OAuthClient(issuer: server.url, id: "app", scopes: ["profile"]), transport: LosingTokens(count), time: time)
  }

  @Test func `by browser is redeemed again, with the same key`() async throws {
    try await OwnServer.run { server async throws in
      try await server.signUp()
      let backend = backend(server, losing: 2)
      let person = WebPerson()
      let receiver = try await LoopbackReceiver.listen { page in
        do { try await person.visit(page) } catch { Issue.record(error) }
      }
      let controller = SessionController(backend: backend, vault: MemoryVault())
      _ = try await controller.signIn { () async throws(SessionError) in
        try await backend.signIn(through: receiver, redirectURI: receiver.redirectURI)
      }
      await receiver.close()
      try await expectSignedIn(controller, server)
    }
  }

  @Test func `on another device is redeemed by the next poll`() async throws {
    try await OwnServer.run { server async throws in
      try await server.signUp()
      let (shown, show) = AsyncStream.makeStream(of: DeviceCode.self)
      let isAllowed = Locked(false)
      let backend = backend(
        server, losing: 1,
        time: OAuthTime(now: { UnixTime(seconds: 0) }) { pause in
          // The server's clock is the real one.
          if isAllowed.withLock({ $0 }) { return try await OAuthTime.system.sleep(pause) }
          for await code in shown {
            isAllowed.withLock { $0 = true }
            try await WebPerson().allow(code.userCode, at: code.address)
            return
          }
        })
      let controller = SessionController(backend: backend, vault: MemoryVault())
      _ = try await controller.signIn { () async throws(SessionError) in
        try await backend.signInOnAnotherDevice { show.yield($0) }
      }
      try await expectSignedIn(controller, server)
    }
  }

  private func expectSignedIn(_ controller: SessionController, _ server: OwnServer) async throws {
    let token = try await controller.token()
    let header = HeaderField("Authorization", token.secret.withExposed { "Bearer " + $0 })
    let answer = try await AsyncHTTPTransport.shared.send(
      TransportRequest(method: "GET", url: server.url + "/v1/me", headers: [header]))
    #expect(answer.status == 200)
  }
}
#endif
