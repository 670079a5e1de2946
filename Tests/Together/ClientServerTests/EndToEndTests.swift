#if Programs
import Foundation
import HTTPTypes
import Handstamp
import HandstampSupport
import HandstampTesting
import Hummingbird
import Testing

/// The client against the real server, over real sockets.
@Suite(.timeLimit(.minutes(10))) struct `Client and server` {
  struct Me: Endpoint {
    struct Response: Decodable, Sendable { var name: String }
    var path: APIPath { "/v1/me" }
  }

  @Test(arguments: Kind.allCases)
  func `sign up, request, refresh, list, sign out`(_ kind: Kind) async throws {
    try await RealServer.run { server in
      let backend = server.backend(kind)
      let controller = SessionController(backend: backend, vault: MemoryVault())
      let facts = try await controller.signIn {
        try await backend.signUp(email: "ada@example.org", password: password, username: "Ada").get()
      }
      #expect(facts.profile?.name == "Ada")
      let api = APIClient(baseURL: server.url, controller: controller, transport: kind.patient())
      #expect(try await api.send(Me()).name == "Ada")
      let first = try await controller.token()
      let second = try await controller.token(replacing: AccessToken("another"))
      #expect(first == second)
      await controller.signOut()
      #expect(await controller.waitForRevocations(timeout: .seconds(600)))
      await #expect(throws: APIError.session(.signedOut(.signedOut))) { try await api.send(Me()) }
      // The server now refuses tokens issued before the sign-out.
      let stale = try await kind.patient().send(
        TransportRequest(
          method: "GET", url: server.url.absoluteString + "/v1/me",
          headers: [HeaderField("Authorization", "Bearer " + first.secret.withExposed { $0 })]))
      #expect(stale.status == 401)
    }
  }

  @Test(arguments: Kind.allCases)
  func `wrong passwords and taken addresses are reported with their codes`(_ kind: Kind) async throws {
    try await RealServer.run { server in
      let backend = server.backend(kind)
      _ = try await backend.signUp(email: "ada@example.org", password: password, username: "Ada")
      for (expected, call) in [
        (
          "wrong_credentials",
          { () async throws in _ = try await backend.signIn(email: "ada@example.org", password: Secret("nonsense1")) }
        ),
        (
          "wrong_credentials",
          { () async throws in _ = try await backend.signIn(email: "eve@example.org", password: password) }
        ),
        (
          "email_taken",
          { () async throws in
            _ = try await backend.signUp(email: "ada@example.org", password: password, username: "Eve")
          }
        ),
        (
          "weak_password",
          { () async throws in
            _ = try await backend.signUp(email: "bob@example.org", password: Secret("short"), username: "Bob")
          }
        ),
      ] {
        do {
          try await call()
          Issue.record("no error, expected \(expected)")
        } catch let error as SessionError {
          guard case .refused(let code, _) = error else {
            Issue.record("\(error)")
            continue
          }
          #expect(code == expected)
        }
      }
    }
  }

  @Test(arguments: Kind.allCases)
  func `a second device appears in the live feed, and is signed out when it is ended`(_ kind: Kind) async throws {
    try await RealServer.run { server in
      let first = server.backend(kind, device: "phone")
      let owner = SessionController(backend: first, vault: MemoryVault())
      try await owner.signIn {
        try await first.signUp(email: "ada@example.org", password: password, username: "Ada").get()
      }
      let stream = try APIClient(baseURL: server.url, controller: owner, transport: kind.patient()).stream("/v1/events")
      let (names, told) = AsyncStream.makeStream(of: String.self)
      let feed = Task {
        defer { told.finish() }
        for try await event in stream { told.yield(event.name) }
      }
      defer { feed.cancel() }
      var events = names.makeAsyncIterator()
      #expect(await events.next() == "verification", "the feed is open")
      let second = server.backend(kind, device: "laptop")
      let controller = SessionController(backend: second, vault: MemoryVault())
      let other = try await controller.signIn { try await second.signIn(email: "ada@example.org", password: password) }
      let ending = try await kind.patient().send(
        TransportRequest(
          method: "DELETE", url: server.url.absoluteString + "/v1/sessions/" + other.id.rawValue,
          headers: [HeaderField("Authorization", "Bearer " + owner.token().secret.withExposed { $0 })]))
      #expect((200..<300).contains(ending.status))
      var established = 0
      while let name = await events.next(), name != "session-revoked" {
        if name == "session-established" { established += 1 }
      }
      #expect(established == 1)
      let api = APIClient(baseURL: server.url, controller: controller, transport: kind.patient())
      await #expect(throws: APIError.self) { try await api.send(Me()) }
    }
  }

  /// HTML, empty bodies, wrong codes, with any status: none of them is a rejection.
  @Test(arguments: [200, 201, 204, 301, 400, 401, 403, 404, 418, 429, 500, 502, 503])
  func `garbage from a token endpoint decides nothing`(_ status: Int) async throws {
    let bodies = [
      "", "<html>please sign in</html>", "{}", "[]", "null", #"{"error":"invalid_client"}"#,
      #"{"error":"invalid_request"}"#,
      #"{"error":"use_dpop_nonce"}"#, #"{"error":["invalid_grant"]}"#, "{\"error\":\"invalid_grant\"",
      #"{"access_token":"a b","token_type":"Bearer"}"#, #"{"access_token":"x","token_type":"mac"}"#,
      #"{"access_token":"","token_type":"Bearer","expires_in":1e999}"#,
    ]
    let next = Locked(0)
    try await OddServer.run { router in
      router.post("oauth/token") { _, _ in
        let body = next.withLock { number in
          defer { number += 1 }
          return bodies[number % bodies.count]
        }
        return Response(status: .init(code: status), body: .init(byteBuffer: .init(string: body)))
      }
    } _: { url in
      let backend = ServerBackend(
        baseURL: URL(string: url)!, device: .init(id: DeviceID("d"), name: "d"), transport: URLSessionTransport())
      var random = SystemRandomNumberGenerator()
      for body in bodies {
        let answer = await backend.refresh(RefreshToken("t"), key: RotationKey(from: &random))
        switch answer {
        case .granted: Issue.record("\(status) \(body) was accepted as tokens")
        case .rejected, .superseded: Issue.record("\(status) \(body) was treated as a rejection")
        case .noDecision: break
        }
      }
    }
  }

  @Test(arguments: [400, 401])
  func `invalid_grant is a rejection, with the server's reason`(_ status: Int) async throws {
    let bodies: [(String, RefreshResult)] = [
      (#"{"error":"invalid_grant"}"#, .rejected(.rejected)),
      (#"{"error":"invalid_grant","reason":"token_reuse"}"#, .rejected(.tokenReuseDetected)),
      (#"{"error":"invalid_grant","reason":"of tomorrow"}"#, .rejected(.rejected)),
      (
        #"{"error":"invalid_grant","reason":"ended_at_provider","provider":"Google"}"#,
        .rejected(.endedAtProvider("Google"))
      ),
      (#"{"error":"invalid_grant","reason":"ended_at_provider","provider":7}"#, .rejected(.endedAtProvider())),
      (#"{"error":"invalid_grant","error_code":"superseded"}"#, .superseded),
    ]
    for (body, expected) in bodies {
      try await OddServer.run { router in
        router.post("oauth/token") { _, _ in
          Response(status: .init(code: status), body: .init(byteBuffer: .init(string: body)))
        }
      } _: { url in
        let backend = ServerBackend(
          baseURL: URL(string: url)!, device: .init(id: DeviceID("d"), name: "d"), transport: URLSessionTransport())
        var random = SystemRandomNumberGenerator()
        let answer = await backend.refresh(RefreshToken("t"), key: RotationKey(from: &random))
        #expect(answer == expected)
      }
    }
  }
}
#endif
