#if Programs
import HandstampCore
import HandstampRegistry
import HandstampTransports
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A server inside an app` {
  @Test(arguments: [false, true])
  func `leaves the app's routes alone, and protects those that it is asked to`(onItsListener: Bool) async throws {
    try await EmbeddedServer.run(onItsListener: onItsListener) { app in
      #expect(try await app.client.get("/").text == "hello")
      let refused = try await app.client.get("/notes")
      #expect(refused.status == 401)
      #expect(refused.isProblem && refused.code == "token_missing")
      let place = #"resource_metadata="https://app.example.org/.well-known/oauth-protected-resource/auth""#
      #expect(refused.headers["www-authenticate"] == #"Bearer \#(place), DPoP \#(place), algs="ES256""#)

      let session = try await app.signUp()
      let admitted = try await app.client.get("/notes", token: session.access)
      #expect(admitted.status == 200)
      #expect(admitted.text == "user-1 \(session.id)")
      #expect(try await app.client.get("/notes", token: session.access + "x").code == "token_invalid")
      // The app's own errors remain the app's, and unknown paths too.
      let teapot = try await app.client.get("/notes/teapot", token: session.access)
      #expect(teapot.status == 418 && !teapot.isProblem)
      #expect(try await !app.client.get("/nowhere").isProblem)

      #expect(try await app.client.post("/auth/v1/sign-out", token: session.access, json: "").status == 204)
      let ended = try await app.client.get("/notes", token: session.access)
      #expect(ended.status == 401 && ended.code == "session_ended" && ended.json["reason"] == "signed_out")
      app.store.fail(.all)
      #expect(try await app.client.get("/notes", token: session.access).status == 503)
      #expect(try await app.client.get("/").status == 200)
    }
  }

  @Test(arguments: [false, true]) func `ends a stream of the app with its session`(onItsListener: Bool) async throws {
    try await EmbeddedServer.run(onItsListener: onItsListener) { app in
      let (session, other) = (try await app.signUp(), try await app.signUp("eve@example.org"))
      func stream(_ token: String) async throws -> AsyncThrowingStream<[UInt8], any Error>.Iterator {
        let request = TransportRequest(method: "GET", url: app.client.base + "/notes/stream")
        var parts = try await AsyncHTTPTransport.shared.open(request.authorized(by: AccessToken(token))).body
          .makeAsyncIterator()
        #expect(try await parts.next() == Array(": open\n".utf8))
        return parts
      }
      var parts = try await stream(session.access)
      let kept = try await stream(other.access)
      #expect(try await app.client.post("/auth/v1/sign-out", token: session.access, json: "").status == 204)
      #expect((try? await parts.next()) == nil)
      #expect(try await app.client.get("/notes", token: other.access).status == 200)
      withExtendedLifetime(kept) {}
    }
  }

  @Test func `names its routes below the prefix, and its metadata where RFC 8414 puts them`() async throws {
    try await EmbeddedServer.run { app in
      #expect(try await app.client.get("/.well-known/oauth-authorization-server").status == 404)
      let metadata = try await app.client.get("/.well-known/oauth-authorization-server/auth")
      #expect(metadata.status == 200)
      let issuer = "https://app.example.org"
      #expect(metadata.json["issuer"] == issuer + "/auth")
      let resource = try await app.client.get("/.well-known/oauth-protected-resource/auth")
      #expect(resource.json["resource"] == issuer + "/auth")
      #expect(resource.json["authorization_servers"] == [issuer + "/auth"])
      for (name, method) in [
        ("token_endpoint", "POST"), ("revocation_endpoint", "POST"), ("introspection_endpoint", "POST"),
        ("device_authorization_endpoint", "POST"), ("authorization_endpoint", "GET"), ("userinfo_endpoint", "GET"),
        ("jwks_uri", "GET"),
      ] {
        let url: String = try #require(metadata.json[name])
        #expect(url.hasPrefix(issuer + "/auth/"))
        let answer = try await app.client.send(method, String(url.dropFirst(issuer.count)))
        #expect(answer.status != 404, "\(name)")
      }
      #expect(try await app.client.get("/auth/health").status == 200)
      #expect(try await app.client.get("/health").status == 404)
    }
  }

  @Test func `accepts a proof for the address that the client sees`() async throws {
    try await EmbeddedServer.run { app in
      for (url, isRight) in [
        ("https://app.example.org/auth/oauth/token", true), ("https://app.example.org/oauth/token", false),
        ("https://app.example.org/auth/auth/oauth/token", false),
      ] {
        let proof = DPoPProof(at: .current, nonce: app.server.proofs.nonce(at: app.server.clock.now)) { $0.url = url }
        let answer = try await app.client.send(
          "POST", "/auth/oauth/token",
          headers: ["DPoP": proof.text, "Content-Type": "application/x-www-form-urlencoded"], body: Array("a=b".utf8))
        #expect(answer.json["error"] == (isRight ? "invalid_request" : "invalid_dpop_proof"), "\(url)")
      }
    }
  }

  @Test(arguments: [
    ("https://app.example.org", "/auth"), ("https://app.example.org/auth", "auth"),
    ("https://app.example.org/auth/", "/auth/"), ("https://app.example.org/:id", "/:id"),
    ("https://app.example.org/a//b", "/a//b"),
  ])
  func `does not start at an address that contradicts its prefix`(issuer: String, path: String) async throws {
    await #expect(throws: ServerConfigurationError.mountPath(path, issuer: issuer)) {
      try await EmbeddedServer.run {
        $0.issuer = issuer
        $0.mountPath = path
      } body: { _ in
      }
    }
  }

  @Test(arguments: [false, true])
  func `ends open event streams when the app shuts down`(onItsListener: Bool) async throws {
    let stream = try await EmbeddedServer.run(onItsListener: onItsListener) { app in
      let session = try await app.signUp()
      let stream = try await WireStream(
        WireClient(base: app.client.base + "/auth"), token: session.access)
      #expect(try await stream.next()?.name == "verification")
      return Opened(stream)
    }
    #expect(try await stream.stream.next() == nil)
  }

  /// The stream belongs to one test.
  private struct Opened: @unchecked Sendable {
    let stream: WireStream
    init(_ stream: WireStream) { self.stream = stream }
  }
}
#endif
