import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampOAuth

/// Sign-ins and refreshes at issuers of the table, whose responses are those of their documents.
@Suite(.timeLimit(.minutes(10))) struct `A known provider` {
  private static let github = "https://github.com"
  private static let code = #"{"device_code":"d","user_code":"A","verification_uri":"https://github.com/login/device"}"#

  /// A server that publishes nothing.
  private func server() -> StubServer { StubServer(metadata: "") }

  private func backend(
    _ issuer: String, scopes: [String] = ["repo"], secret: Secret? = nil, at server: StubServer,
    _ change: (inout OAuthClient) -> Void = { _ in }
  ) -> OAuthBackend {
    var client = OAuthClient(issuer: issuer, id: "app", secret: secret, scopes: scopes)
    change(&client)
    return OAuthBackend(
      client, transport: server, time: OAuthTime(now: { UnixTime(seconds: 0) }, sleep: { _ in }))
  }

  private func signIn(_ backend: OAuthBackend, more: String = "") async throws(SessionError) -> TokenResponse {
    try await backend.signIn(through: Person.agreeing(more: more), redirectURI: "org.example.app:/back")
  }

  private func refresh(
    _ issuer: String, _ status: Int, _ body: String, scopes: [String] = [], provider: OAuthProvider? = nil
  ) async throws -> RefreshResult {
    let server = StubServer(metadata: StubServer.metadata(issuer: issuer))
    server.on(
      StubServer.path(issuer) + "/.well-known/openid-configuration", json: StubServer.metadata(issuer: issuer))
    for path in ["/token", "/login/oauth/access_token", "/api/oauth.v2.access"] {
      server.on(path, status: status, json: body)
    }
    let key = try #require(RotationKey(bytes: [UInt8](repeating: 7, count: 16)))
    return await backend(issuer, scopes: scopes, at: server) { $0.provider = provider }
      .refresh(RefreshRequest(token: RefreshToken("r0"), key: key))
  }

  // MARK: GitHub

  @Test(arguments: ["https://github.com", "https://github.com/login/oauth"])
  func `that publishes no metadata is not asked for it`(issuer: String) async throws {
    let server = server()
    server.on(
      "/login/oauth/access_token", json: #"{"access_token":"a","scope":"repo,gist","token_type":"bearer"}"#)
    server.on("/user", json: #"{"login":"octocat","id":583231,"name":"The Octocat","email":null}"#)
    let backend = backend(issuer, secret: Secret("s"), at: server)
    // GitHub may name itself in either way.
    let grant = try await signIn(backend, more: "&iss=https://github.com/login/oauth")
    #expect(grant.profile == Profile(id: AccountID("583231"), name: "The Octocat"))
    #expect(grant.scopes == ["repo", "gist"] && !grant.namesNoUser)
    let form = try #require(server.forms(to: "/login/oauth/access_token").first)
    #expect(form["client_secret"] == "s" && form["client_id"] == "app")
    let asked = try #require(server.requests(to: "/user").first)
    #expect(asked.url == "https://api.github.com/user" && asked.headers.first(named: "User-Agent") != nil)
    #expect(server.requests(to: "/.well-known/oauth-authorization-server").isEmpty)
    #expect(server.requests(to: "/.well-known/openid-configuration").isEmpty)
    let metadata = try await backend.metadata()
    #expect(metadata.deviceAuthorizationEndpoint == "https://github.com/login/device/code")
    #expect(try await backend.metadata().revocationEndpoint == nil)
  }

  @Test(arguments: [
    ("https://octo.ghe.com", "https://api.octo.ghe.com/user"),
    ("https://git.example.org:8443", "https://git.example.org:8443/api/v3/user"),
  ])
  func `of the user's own has its addresses at that host`(issuer: String, userInfo: String) async throws {
    let provider = try #require(OAuthProvider(named: "github", at: issuer))
    let metadata = try await backend(issuer, at: server()) { $0.provider = provider }.metadata()
    #expect(metadata.tokenEndpoint == issuer + "/login/oauth/access_token")
    #expect(metadata.userInfoEndpoint == userInfo)
    #expect(OAuthProvider(named: "nowhere", at: issuer) == nil && OAuthProvider(named: "github", at: "x") == nil)
  }

  @Test(arguments: [
    "{}", #"{"id":null}"#, #"{"id":true}"#, #"{"id":1.5}"#, #"{"id":""}"#, #"{"id":{"id":1}}"#, #"{"id":[1]}"#, "[]",
    #"{"id":1e30}"#, #"{"id":"a\nb"}"#, "<html>", #"{"login":"octocat"}"#,
    #"{"id":"\#(String(repeating: "x", count: 2000))"}"#,
  ])
  func `whose answer identifies no user signs none in`(body: String) async {
    let server = server()
    server.on("/login/oauth/access_token", json: StubServer.tokens)
    server.on("/user", json: body)
    let error = await failure { () throws(SessionError) in try await signIn(backend(Self.github, at: server)) }
    #expect(error == .invalidResponse("the user information has no subject"))
  }

  @Test(arguments: [401, 403, 500, 0])
  func `that refuses to say who signed in does not make them another user`(status: Int) async {
    let server = server()
    server.on("/login/oauth/access_token", json: StubServer.tokens)
    server.on("/user", status: status, json: #"{"message":"no"}"#)
    let error = await failure { () throws(SessionError) in try await signIn(backend(Self.github, at: server)) }
    guard case .requestFailed = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  // MARK: Slack

  private static let nested = """
    {"ok":true,"app_id":"A1","team":{"id":"T1"},"authed_user":{"id":"U1","scope":"chat:write,users:read",
    "access_token":"a1","token_type":"user","expires_in":43200,"refresh_token":"r1"}}
    """

  @Test func `Slack has the user's token in its own place, and of its own type`() async throws {
    let server = server()
    server.on("/api/oauth.v2.access", json: Self.nested)
    server.on("/api/auth.test", json: #"{"ok":true,"team":"Example","user":"ada","team_id":"T1","user_id":"U1"}"#)
    let backend = backend("https://slack.com", scopes: ["chat:write", "users:read"], at: server)
    let grant = try await signIn(backend)
    #expect(grant.tokens.access == AccessToken("a1") && grant.tokens.refresh == RefreshToken("r1"))
    #expect(grant.tokens.expiresIn == .seconds(43_200) && grant.scopes == ["chat:write", "users:read"])
    #expect(grant.profile == Profile(id: AccountID("T1/U1"), name: "ada"))
    let flow = try await backend.begin(redirectURI: "http://localhost:8085/callback")
    #expect(StubServer.fields(flow.url)["user_scope"] == "chat:write users:read")
    #expect(StubServer.fields(flow.url)["scope"] == nil)
  }

  @Test func `Slack is asked for its metadata for a sign-in with openid`() async throws {
    let server = StubServer(metadata: StubServer.metadata(issuer: "https://slack.com"))
    let metadata = try await backend("https://slack.com", scopes: ["openid"], at: server).metadata()
    #expect(metadata.tokenEndpoint == "https://id.example.org/token")
  }

  @Test(arguments: [
    #"{"ok":true,"authed_user":null}"#, #"{"ok":true,"authed_user":"U1"}"#, #"{"ok":true,"authed_user":{}}"#,
    #"{"ok":true,"authed_user":{"access_token":7,"token_type":"user"}}"#, #"{"ok":true,"authed_user":[]}"#,
    #"{"ok":true,"authed_user":{"access_token":"a b","token_type":"user"}}"#,
    #"{"ok":true,"authed_user":{"access_token":"a","token_type":"app"}}"#,
  ])
  func `Slack with an answer of another shape signs no user in`(body: String) async {
    let server = server()
    server.on("/api/oauth.v2.access", json: body)
    let error = await failure { () throws(SessionError) in
      try await signIn(backend("https://slack.com", scopes: ["chat:write"], at: server))
    }
    guard case .invalidResponse = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test(arguments: ["user", "bot"])
  func `alone has types of its own`(type: String) async throws {
    let body = #"{"access_token":"a2","token_type":"\#(type)","refresh_token":"r2"}"#
    let slack = try await refresh("https://slack.com", 200, body)
    #expect(try slack.get().tokens.refresh == RefreshToken("r2"))
    // Elsewhere the type is unknown, and the successor is kept all the same.
    let other = try await refresh(StubServer.issuer, 200, body)
    #expect(
      other == .noDecision(.unusableTokens("unknown token_type \(type)", successor: RefreshToken("r2"))))
  }

  // MARK: The end of a session

  @Test(arguments: [
    ("https://github.com", "bad_refresh_token"), ("https://octo.ghe.com", "bad_refresh_token"),
    ("https://slack.com", "invalid_refresh_token"),
  ])
  func `ends a session by its own word`(issuer: String, word: String) async throws {
    for status in [200, 400, 401] {
      #expect(try await refresh(issuer, status, #"{"error":"\#(word)"}"#) == .rejected(.rejected), "\(status)")
    }
    for status in [408, 425, 429, 500, 502, 503] {
      guard case .noDecision = try await refresh(issuer, status, #"{"error":"\#(word)"}"#) else {
        Issue.record("\(status) says that the server could not answer")
        return
      }
    }
  }

  @Test(arguments: [
    ("https://github.com", "invalid_refresh_token"), ("https://slack.com", "bad_refresh_token"),
    (StubServer.issuer, "bad_refresh_token"), (StubServer.issuer, "invalid_refresh_token"),
    ("https://gitlab.com", "bad_refresh_token"), ("https://github.com.example.org", "bad_refresh_token"),
    ("https://github.com", "incorrect_client_credentials"), ("https://github.com", "BAD_REFRESH_TOKEN"),
    ("https://slack.com", "ratelimited"), ("https://slack.com", "internal_error"),
  ])
  func `does not end a session by another one's word`(issuer: String, word: String) async throws {
    guard case .noDecision(let failure, _) = try await refresh(issuer, 200, #"{"error":"\#(word)"}"#) else {
      Issue.record("the session ended")
      return
    }
    #expect(failure.recovery == .signIn, "the user can do something")
  }

  private static let entra = "https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/v2.0"

  @Test(arguments: ["basic_action", "additional_action", "message_only", "consent_required", "user_password_expired"])
  func `Entra ID keeps a session whose user has something to do`(suberror: String) async throws {
    let body = #"{"error":"invalid_grant","suberror":"\#(suberror)","error_description":"AADSTS50076"}"#
    guard case .noDecision(let failure, _) = try await refresh(Self.entra, 400, body) else {
      Issue.record("the session ended")
      return
    }
    let code = suberror == "consent_required" ? suberror : "interaction_required"
    #expect(failure == .server(.init(status: 400, error: code, detail: "AADSTS50076")))
    #expect(failure.recovery == .signIn)
    // The member is Microsoft's.
    #expect(try await refresh(StubServer.issuer, 400, body) == .rejected(.rejected))
  }

  @Test(arguments: [#""bad_token""#, #""token_expired""#, "null", "7", "[]", #""""#, #""other""#])
  func `Entra ID ends a session with any other invalid_grant`(suberror: String) async throws {
    let body = #"{"error":"invalid_grant","suberror":\#(suberror)}"#
    #expect(try await refresh(Self.entra, 400, body) == .rejected(.rejected))
  }

  @Test(arguments: ["interaction_required", "login_required", "consent_required"])
  func `never ends a session by an error of OpenID Connect`(word: String) async throws {
    for issuer in [Self.entra, StubServer.issuer, Self.github] {
      guard case .noDecision(let failure, _) = try await refresh(issuer, 400, #"{"error":"\#(word)"}"#) else {
        Issue.record("the session ended")
        return
      }
      #expect(failure.recovery == .signIn)
    }
  }

  // MARK: The rest of the table

  @Test(arguments: [
    ("https://login.microsoftonline.us/x/v2.0", RefreshTokenReuse.overlap(.seconds(86_400))),
    ("https://login.partner.microsoftonline.cn/x/v2.0", .overlap(.seconds(86_400))),
    ("https://acme.zitadel.cloud", .never), ("https://github.com", .never), ("https://slack.com", .never),
    ("https://gitlab.com", .never), ("https://accounts.google.com", .notRotated),
    ("https://x.supabase.co/auth/v1", .predecessor), ("https://discord.com", nil), ("https://zitadel.cloud", nil),
    ("https://github.com.example.org", nil), ("x", nil),
  ])
  func `is known for how it treats used refresh tokens`(issuer: String, reuse: RefreshTokenReuse?) {
    #expect(backend(issuer, at: server()).abilities.reuse == reuse)
  }

  @Test func `GitLab gets the endpoint that it does not publish, and the redirect URI with a refresh`() async throws {
    for (published, device) in [
      ("", "https://gitlab.com/oauth/authorize_device"),
      (#","device_authorization_endpoint":"https://gitlab.com/new""#, "https://gitlab.com/new"),
    ] {
      let server = StubServer(
        metadata: #"{"issuer":"https://gitlab.com","token_endpoint":"https://gitlab.com/oauth/token"\#(published)}"#)
      server.on("/oauth/token", json: StubServer.tokens)
      let backend = backend("https://gitlab.com", at: server) { $0.redirectURI = "http://127.0.0.1:8085/callback" }
      #expect(try await backend.metadata().deviceAuthorizationEndpoint == device)
      let key = try #require(RotationKey(bytes: [UInt8](repeating: 7, count: 16)))
      _ = await backend.refresh(RefreshRequest(token: RefreshToken("r0"), key: key))
      #expect(server.forms(to: "/oauth/token").first?["redirect_uri"] == "http://127.0.0.1:8085/callback")
    }
  }

  @Test func `Discord says who a user is without openid`() async throws {
    let server = StubServer(
      metadata: #"{"issuer":"https://discord.com","token_endpoint":"https://discord.com/api/oauth2/token","#
        + #""authorization_endpoint":"https://discord.com/api/oauth2/authorize"}"#)
    server.on("/api/oauth2/token", json: StubServer.tokens)
    server.on("/api/users/@me", json: #"{"id":"80351110224678912","username":"nelly","global_name":null}"#)
    let grant = try await signIn(backend("https://discord.com", scopes: ["identify"], at: server))
    #expect(grant.profile == Profile(id: AccountID("80351110224678912"), name: "nelly"))
  }
}
