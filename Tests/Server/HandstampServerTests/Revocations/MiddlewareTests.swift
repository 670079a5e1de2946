#if Programs
import Crypto
import Foundation
import HTTPTypes
import HandstampCore
import HandstampSupport
import HandstampTesting
import HandstampTransports
import Hummingbird
import NIOCore
import ServiceLifecycle
import Testing

@testable import HandstampServer
@testable import HandstampVerifier

/// An API of its own, in Hummingbird, beside the server.
@Suite(.timeLimit(.minutes(10))) struct `The middleware of a verifier` {
  private static func run(
    body: (TestServer, WireClient, @escaping @Sendable () -> Bool) async throws -> Void
  ) async throws {
    let clients = try TestServer.clients()
    try await TestServer.run {
      $0.clients = clients
    } body: { test async throws in
      var configuration = VerifierConfiguration(
        issuer: "https://id.example.org", audiences: ["https://id.example.org", "https://api.example.org/api"],
        keys: .url(test.client.base + "/.well-known/jwks.json"),
        resource: ProtectedResource("https://api.example.org/api", scopes: ["read"], name: "Things"),
        feed: FeedSettings(
          clientID: "api", clientSecret: Secret(TestServer.secret), url: test.client.base + "/v1/revocations",
          whenLost: .refuse, silence: .seconds(240)))
      configuration.clock = VerifierClock(now: { test.clock.now }, uptime: VerifierClock.system.uptime)
      let verifier = try TokenVerifier(configuration)
      let router = Router(context: BasicIdentityContext.self)
      router.add(middleware: ResourceMetadataMiddleware(verifier))
      let api = router.group("api").add(middleware: IdentityMiddleware(verifier, at: "https://api.example.org"))
      api.get("me") { _, context in context.identity?.subject ?? "nobody" }
      api.group("write").add(middleware: ScopeMiddleware("write")).get { _, _ in "written" }
      api.post("tool") { request, context in
        let needed =
          try await request.body.collect(upTo: 100).readableBytesView.elementsEqual("b".utf8) ? ["b", "c"] : []
        guard context.identity?.has(scopes: needed) == true else { throw AccessError.insufficientScope(needed) }
        return "called"
      }
      api.get("stream") { _, _ in
        Response(
          status: .ok, headers: [.contentType: "text/event-stream"],
          body: ResponseBody { writer in
            try await writer.write(ByteBuffer(string: ": open\n"))
            // Until the task is cancelled, which the writer does not notice.
            for await _ in AsyncStream(Void.self, { _ in }) {}
            try await writer.write(ByteBuffer(string: "data: late\n\n"))
            try await writer.finish(nil)
          })
      }
      let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
      let app = Application(
        router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
        services: [VerifierService(verifier)],
        onServerRunning: { continuation.yield($0.localAddress?.port ?? 0) }, logger: test.logs.logger)
      let group = ServiceGroup(configuration: .init(services: [app], logger: test.logs.logger))
      let running = Task { try await group.run() }
      guard let port = await ports.first(where: { _ in true }) else { throw CancellationError() }
      #expect(await eventually { verifier.feedStatus?.isLive == true })
      let client = WireClient(base: "http://127.0.0.1:\(port)")
      do { try await body(test, client, { verifier.feedStatus?.isLive == true }) } catch {
        await group.triggerGracefulShutdown()
        try? await running.value
        throw error
      }
      await group.triggerGracefulShutdown()
      try await running.value
    }
  }

  @Test func `puts the identity into the context, and answers others as the RFCs say`() async throws {
    try await Self.run { test, client, _ async throws in
      _ = try await test.signUp()
      let app = OAuthApp()
      let session = try await app.session(test)
      let me = try await client.get("/api/me", token: session.access)
      #expect(me.status == 200)
      let account = try await test.introspect(session.access).json["sub"] as String?
      #expect(me.text == account)
      let none = try await client.get("/api/me")
      #expect(none.status == 401)
      #expect(none.isProblem)
      #expect(none.code == "token_missing")
      let place = #"resource_metadata="https://api.example.org/.well-known/oauth-protected-resource/api""#
      #expect(none.headers["www-authenticate"] == #"Bearer \#(place), DPoP \#(place), algs="ES256""#)
      let bad = try await client.get("/api/me", token: session.access + "x")
      #expect(bad.code == "token_invalid")
      #expect(
        bad.headers["www-authenticate"]
          == #"Bearer error="invalid_token", \#(place), DPoP \#(place), algs="ES256""#)
      // Scope `profile read`.
      let forbidden = try await client.get("/api/write", token: session.access)
      #expect(forbidden.status == 403)
      #expect(forbidden.isProblem)
      #expect(
        forbidden.headers["www-authenticate"]
          == #"Bearer error="insufficient_scope", scope="write", \#(place), DPoP scope="write", \#(place), algs="ES256""#
      )
      // The body decides what the route needs.
      #expect(try await client.post("/api/tool", token: session.access, json: "a").status == 200)
      let more = try await client.post("/api/tool", token: session.access, json: "b")
      #expect(more.status == 403 && more.code == "insufficient_scope")
      #expect(
        more.headers["www-authenticate"]
          == #"Bearer error="insufficient_scope", scope="b c", \#(place), DPoP scope="b c", \#(place), algs="ES256""#)
      _ = try await test.client.post("/v1/sign-out", token: session.access, json: "{}")
      _ = try await test.oauth("/oauth/revoke", [("token", session.refresh), ("client_id", app.id)])
      #expect(await eventually { (try? await client.get("/api/me", token: session.access))?.code == "session_ended" })
    }
  }

  @Test func `ends an open stream with its session, and passes nothing on after that`() async throws {
    try await Self.run { test, client, _ async throws in
      _ = try await test.signUp()
      let app = OAuthApp()
      let (session, other) = (try await app.session(test), try await app.session(test))
      func stream(_ token: String) async throws -> AsyncThrowingStream<[UInt8], any Error>.Iterator {
        let request = TransportRequest(method: "GET", url: client.base + "/api/stream").authorized(
          by: AccessToken(token))
        var parts = try await AsyncHTTPTransport.shared.open(request).body.makeAsyncIterator()
        #expect(try await parts.next() == Array(": open\n".utf8))
        return parts
      }
      var parts = try await stream(session.access)
      _ = try await test.oauth("/oauth/revoke", [("token", session.refresh), ("client_id", app.id)])
      // A response that is not complete ends with its connection.
      let late = try? await parts.next()
      #expect(late == nil, "\(String(decoding: late ?? [], as: UTF8.self))")
      #expect(try await client.get("/api/me", token: other.access).status == 200)
    }
  }

  @Test func `tells every client where the API's tokens come from`() async throws {
    try await Self.run { _, client, _ async throws in
      let answer = try await client.get("/.well-known/oauth-protected-resource/api")
      #expect(answer.status == 200)
      #expect(answer.headers["content-type"] == "application/json")
      #expect(answer.headers["access-control-allow-origin"] == "*")
      #expect(answer.json["resource"] == "https://api.example.org/api")
      #expect(answer.json["authorization_servers"] == ["https://id.example.org"])
      #expect(answer.json["scopes_supported"] == ["read"])
      #expect(answer.json["resource_name"] == "Things")
      let head = try await client.send("HEAD", "/.well-known/oauth-protected-resource/api")
      #expect(head.status == 200 && head.body.isEmpty)
      #expect(try await client.get("/.well-known/oauth-protected-resource").status == 404)
    }
  }

  @Test func `checks proofs against the public address`() async throws {
    try await Self.run { test, client, _ async throws in
      _ = try await test.signUp()
      let key = P256.Signing.PrivateKey()
      let now = test.clock.now
      let proof = DPoPProof(at: now, nonce: test.server.proofs.nonce(at: now)) { $0.key = key }
      let session = try await OAuthApp().session(test, headers: ["DPoP": proof.text])
      func me(_ url: String, scheme: String = "DPoP") async throws -> WireClient.Answer {
        let proof = DPoPProof(at: now, nonce: nil) {
          ($0.key, $0.method, $0.url, $0.token) = (key, "GET", url, session.access)
        }
        return try await client.get(
          "/api/me?a=b", headers: ["Authorization": "\(scheme) \(session.access)", "DPoP": proof.text])
      }
      #expect(try await me("https://api.example.org/api/me").status == 200)
      let wrong = try await me(client.base + "/api/me")
      #expect(wrong.code == "proof_invalid")
      #expect(wrong.headers["www-authenticate"]?.hasPrefix(#"DPoP error="invalid_dpop_proof", "#) == true)
      #expect(try await me("https://api.example.org/api/me", scheme: "Bearer").code == "token_invalid")
    }
  }
}
#endif
