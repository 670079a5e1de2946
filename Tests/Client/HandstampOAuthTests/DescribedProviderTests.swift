import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampOAuth

/// A server described by hand, and one that speaks for several tenants.
@Suite(.timeLimit(.minutes(10))) struct `A provider that is described by hand` {
  private func backend(
    _ server: StubServer, scopes: [String] = ["read"], secret: Secret? = nil, issuer: String = StubServer.issuer,
    _ provider: OAuthProvider?
  ) -> OAuthBackend {
    var client = OAuthClient(
      issuer: issuer, id: "app", secret: secret, scopes: scopes, resources: ["https://api.example.org"],
      parameters: ["prompt": "consent", "audience": "api", "client_id": "other", "scope": "all", "state": "s"])
    client.provider = provider
    return OAuthBackend(
      client, transport: server, time: OAuthTime(now: { UnixTime(seconds: 0) }, sleep: { _ in }))
  }

  @Test func `has endpoints that take the place of published ones`() async throws {
    let server = StubServer()
    let provider = OAuthProvider(endpoints: [.device: "https://id.example.org/code", .userInfo: "https://a.example/me"])
    let metadata = try await backend(server, provider).metadata()
    #expect(metadata.deviceAuthorizationEndpoint == "https://id.example.org/code")
    #expect(metadata.userInfoEndpoint == "https://a.example/me")
    #expect(metadata.revocationEndpoint == "https://id.example.org/revoke", "the others are as published")
  }

  @Test func `with a token endpoint is asked for no metadata`() async throws {
    let server = StubServer()
    let provider = OAuthProvider(endpoints: [.token: "https://id.example.org/t"])
    let metadata = try await backend(server, provider).metadata()
    #expect(metadata.tokenEndpoint == "https://id.example.org/t" && metadata.authorizationEndpoint == nil)
    #expect(server.requests(to: "/.well-known/oauth-authorization-server").isEmpty)
  }

  @Test(arguments: ["http://id.example.org/t", "https://me@id.example.org/t", "", "t", "https://id.example.org/t#x"])
  func `never sends a secret to an endpoint without TLS`(place: String) async {
    for issuer in [StubServer.issuer, "http://github.com"] {
      let backend = backend(StubServer(), issuer: issuer, OAuthProvider(endpoints: [.token: place]))
      await #expect(throws: SessionError.self) { try await backend.metadata() }
    }
  }

  @Test(arguments: [OAuthProvider.SecretPlace.form, .header, nil])
  func `says where the secret goes`(place: OAuthProvider.SecretPlace?) async throws {
    let server = StubServer()
    server.on("/token", json: StubServer.tokens)
    let backend = backend(server, secret: Secret("s"), OAuthProvider(clientSecretIn: place))
    let key = try #require(RotationKey(bytes: [UInt8](repeating: 7, count: 16)))
    _ = await backend.refresh(RefreshRequest(token: RefreshToken("r0"), key: key))
    let request = try #require(server.requests(to: "/token").first)
    #expect((request.headers.first(named: "Authorization") == nil) == (place == .form))
    #expect((StubServer.form(request)["client_secret"] == "s") == (place == .form))
  }

  @Test func `gets parameters and resources with the request for a device code as well`() async throws {
    let server = StubServer()
    server.on("/device", json: #"{"device_code":"d","user_code":"A","verification_uri":"https://id.example.org/go"}"#)
    server.on("/token", json: StubServer.tokens)
    let backend = backend(server, nil)
    _ = try await backend.signInOnAnotherDevice { _ in }
    #expect(
      server.forms(to: "/device") == [
        [
          "client_id": "app", "scope": "read", "prompt": "consent", "audience": "api",
          "resource": "https://api.example.org",
        ]
      ])
    let page = StubServer.fields(try await backend.begin(redirectURI: "org.example.app:/back").url)
    #expect(page["audience"] == "api" && page["client_id"] == "app" && page["scope"] == "read" && page["state"] != "s")
  }

  // MARK: Names

  private func signIn(_ claims: String, _ userInfo: (status: Int, body: String)) async throws -> TokenResponse {
    let server = StubServer(metadata: StubServer.metadata(more: #","userinfo_endpoint":"https://id.example.org/me""#))
    server.on("/device", json: #"{"device_code":"d","user_code":"A","verification_uri":"https://id.example.org/go"}"#)
    let token = StubServer.unsigned(
      #"{"iss":"\#(StubServer.issuer)","sub":"ann","aud":"app","exp":4000000000\#(claims)}"#)
    server.on("/token", json: #"{"access_token":"a1","token_type":"Bearer","id_token":"\#(token)"}"#)
    server.on("/me", status: userInfo.status, json: userInfo.body)
    let grant = try await backend(server, scopes: ["openid"], nil).signInOnAnotherDevice { _ in }
    #expect(server.requests(to: "/me").count == (claims.isEmpty ? 1 : 0))
    return grant
  }

  @Test func `is asked for a name that the ID token lacks`() async throws {
    let named = try await signIn("", (200, #"{"sub":"ann","name":"Ann"}"#))
    #expect(named.profile == Profile(id: "ann", name: "Ann"))
    let known = try await signIn(#","email":"ann@example.org""#, (200, #"{"sub":"ann","name":"Ann"}"#))
    #expect(known.profile?.name == "ann@example.org")
  }

  @Test(arguments: [
    (500, ""), (401, "{}"), (200, "<html>"), (200, "{}"), (200, #"{"sub":"bob","name":"Bob"}"#), (0, ""), (200, "[]"),
    (200, #"{"sub":"ann","name":"\u001b[2J"}"#), (200, #"{"sub":"ann","name":" "}"#),
  ])
  func `that has no usable name signs the user in all the same`(status: Int, body: String) async throws {
    #expect(try await signIn("", (status, body)).profile == Profile(id: "ann", name: "ann"))
  }

  @Test func `that says nothing of its user is marked as such`() async throws {
    let server = StubServer()
    server.on("/token", json: StubServer.tokens)
    let grant = try await backend(server, nil).signIn(
      through: Person.agreeing(), redirectURI: "org.example.app:/back")
    #expect(grant.namesNoUser && grant.profile?.id == AccountID(StubServer.issuer))
  }

  // MARK: Tenants

  private static let host = "https://login.microsoftonline.com"
  private static let tenant = "11111111-2222-3333-4444-555555555555"
  private static let other = "99999999-2222-3333-4444-555555555555"

  private func signIn(at place: String, published: String, iss: String, tid: String?) async -> SessionError? {
    let server = StubServer(metadata: "")
    server.on("/\(place)/v2.0/.well-known/openid-configuration", json: StubServer.metadata(issuer: published))
    server.on("/device", json: #"{"device_code":"d","user_code":"A","verification_uri":"https://id.example.org/go"}"#)
    let tenant = tid.map { #","tid":"\#($0)""# } ?? ""
    let token = StubServer.unsigned(#"{"iss":"\#(iss)","sub":"ann","aud":"app","exp":4000000000,"name":"A"\#(tenant)}"#)
    server.on("/token", json: #"{"access_token":"a1","token_type":"Bearer","id_token":"\#(token)"}"#)
    return await failure { () throws(SessionError) in
      try await backend(server, scopes: ["openid"], issuer: "\(Self.host)/\(place)/v2.0", nil)
        .signInOnAnotherDevice { _ in }
    }
  }

  @Test(arguments: ["common", "organizations"])
  func `for several tenants takes each one's own ID tokens`(place: String) async {
    let template = "\(Self.host)/{tenantid}/v2.0"
    let own = "\(Self.host)/\(Self.tenant)/v2.0"
    #expect(await signIn(at: place, published: template, iss: own, tid: Self.tenant) == nil)
    let refused: [(iss: String, tid: String?)] = [
      (own, Self.other), (own, nil), (own, ""), (template, "{tenantid}"), (template, Self.tenant),
      ("\(Self.host)/common/v2.0", "common"), ("\(Self.host)/common/v2.0", Self.tenant),
      ("https://evil.example.org/\(Self.tenant)/v2.0", Self.tenant), ("\(Self.host)/\(Self.tenant)/v1.0", Self.tenant),
      ("\(Self.host)/x/\(Self.tenant)/v2.0", Self.tenant), ("\(Self.host)/x/v2.0", "x"), ("\(Self.host)//v2.0", ""),
    ]
    for (iss, tid) in refused {
      let error = await signIn(at: place, published: template, iss: iss, tid: tid)
      #expect(error == .invalidResponse("the ID token is from another issuer"), "\(iss) \(tid ?? "-")")
    }
  }

  @Test func `for one tenant takes no other's`() async {
    let (own, foreign) = ("\(Self.host)/\(Self.tenant)/v2.0", "\(Self.host)/\(Self.other)/v2.0")
    #expect(await signIn(at: Self.tenant, published: own, iss: own, tid: Self.tenant) == nil)
    let error = await signIn(at: Self.tenant, published: own, iss: foreign, tid: Self.other)
    #expect(error == .invalidResponse("the ID token is from another issuer"))
    // Its metadata cannot be for all.
    guard
      case .invalidResponse(let words) = await signIn(
        at: Self.tenant, published: "\(Self.host)/{tenantid}/v2.0", iss: own, tid: Self.tenant)
    else {
      Issue.record("it was accepted")
      return
    }
    #expect(words.contains("the metadata belongs to another issuer"))
  }

  @Test func `has tenants only if it is known for them`() async {
    let server = StubServer(metadata: "")
    server.on(
      "/common/v2.0/.well-known/openid-configuration",
      json: StubServer.metadata(issuer: StubServer.issuer + "/{tenantid}/v2.0"))
    let backend = backend(server, issuer: StubServer.issuer + "/common/v2.0", nil)
    await #expect(throws: SessionError.self) { try await backend.metadata() }
    #expect(backend.otherIssuer == nil, "a placeholder is no issuer to use")
  }
}
