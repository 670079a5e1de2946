#if Programs
import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

/// RFC 7591.
@Suite(.timeLimit(.minutes(10))) struct `A client that registers itself` {
  private static let body =
    #"{"client_name":"Ada’s tool","redirect_uris":["http://127.0.0.1:4000/cb","http://localhost:4000/cb"],"#
    + #""token_endpoint_auth_method":"none","grant_types":["authorization_code","refresh_token"],"#
    + #""response_types":["code"],"scope":"profile read admin","logo_uri":"https://evil.example/x.png"}"#

  private func run(
    limits: ServerLimits = .none, _ body: (TestServer) async throws -> Void
  ) async throws {
    try await TestServer.run {
      $0.limits = limits
      $0.clientRegistration = StrangerRights(
        scopes: ["openid", "profile", "read"], audiences: ["https://mcp.example.org/"])
    } body: { test in
      _ = try await test.signUp()
      try await body(test)
    }
  }

  private func app(_ test: TestServer, _ body: String = Self.body) async throws -> OAuthApp {
    let answer = try await test.client.post("/oauth/register", json: body)
    var app = OAuthApp()
    app.id = try #require(answer.json["client_id"])
    (app.redirect, app.scope) = ("http://localhost:52001/cb", "profile")
    return app
  }

  @Test func `is admitted and announced only if the operator says what it may request`() async throws {
    try await TestServer.runOAuth { test in
      #expect(try await test.client.post("/oauth/register", json: Self.body).status == 404)
      let metadata = try await test.client.get("/.well-known/openid-configuration").json
      #expect(metadata.fields["registration_endpoint"] == nil)
    }
    try await run { test in
      for name in ["openid-configuration", "oauth-authorization-server"] {
        let metadata = try await test.client.get("/.well-known/" + name).json
        #expect(metadata["registration_endpoint"] == "https://id.example.org/oauth/register")
        #expect(metadata["scopes_supported"] == ["openid", "profile", "read"])
      }
    }
  }

  @Test func `is told what it got, which is less than it asked for`() async throws {
    try await run { test in
      let answer = try await test.client.post("/oauth/register", json: Self.body)
      #expect(answer.status == 201 && answer.headers["cache-control"] == "no-store")
      let json = answer.json
      #expect(json["client_id_issued_at"] == Int(test.clock.now.seconds))
      #expect(json["client_name"] == "Ada’s tool")
      #expect(json["redirect_uris"] == ["http://127.0.0.1:4000/cb", "http://localhost:4000/cb"])
      #expect(json["token_endpoint_auth_method"] == "none")
      #expect(json["scope"] == "profile read")
      for name in ["client_secret", "registration_access_token", "registration_client_uri", "logo_uri"] {
        #expect(json.fields[name] == nil, "\(name)")
      }
      // A client that wants a secret gets none, and may go on without.
      let secret = #"{"redirect_uris":["http://[::1]/"],"token_endpoint_auth_method":"client_secret_post"}"#
      #expect(
        try await test.client.post("/oauth/register", json: secret).json["token_endpoint_auth_method"] == "none")
    }
  }

  @Test(arguments: [
    ("[]", "invalid_client_metadata"), ("{}", "invalid_redirect_uri"),
    (#"{"redirect_uris":[]}"#, "invalid_redirect_uri"),
    (#"{"redirect_uris":["https://app.example.org/cb"]}"#, "invalid_redirect_uri"),
    (#"{"redirect_uris":["http://127.0.0.1/","org.example.app:/cb"]}"#, "invalid_redirect_uri"),
    (#"{"redirect_uris":["http://127.0.0.2/"]}"#, "invalid_redirect_uri"),
    (#"{"redirect_uris":["http://localhost.example.org/"]}"#, "invalid_redirect_uri"),
    (#"{"redirect_uris":["http://localhost@example.org/"]}"#, "invalid_redirect_uri"),
    (#"{"redirect_uris":["http://localhost/#x"]}"#, "invalid_redirect_uri"),
    (#"{"redirect_uris":["http://localhost/"],"grant_types":["client_credentials"]}"#, "invalid_client_metadata"),
    (#"{"redirect_uris":["http://localhost/"],"response_types":["token"]}"#, "invalid_client_metadata"),
    (#"{"redirect_uris":["http://localhost/"],"scope":"admin offline_access"}"#, "invalid_client_metadata"),
  ])
  func `is refused with an error of its section 3.2.2`(body: String, error: String) async throws {
    try await run { test in
      let answer = try await test.client.post("/oauth/register", json: body)
      #expect(answer.status == 400 && answer.json["error"] == error)
      #expect(try await test.server.registry.registeredClients(now: test.clock.now).isEmpty)
    }
  }

  @Test func `signs users in at any port, after it has said what it is, each time`() async throws {
    try await run { test in
      let app = try await app(test)
      let browser = Browser(test.client.base)
      let path = app.page()
      for (language, words) in [
        ("en", "Ada’s tool, a program that registered itself"),
        ("de", "Ada’s tool, ein Programm, das sich selbst registriert hat"),
      ] {
        #expect(try await Browser(test.client.base).get(path + "&lang=" + language).text.contains(words))
      }
      var sessions: [String] = []
      for _ in 0..<2 {
        var page = try await browser.get(path)
        if page.title == "Sign in" { page = try await browser.signIn(at: path) }
        #expect(page.title == "Allow Ada’s tool, a program that registered itself, to access your account?")
        let back = try await browser.press("allow", on: page, at: path)
        #expect(back.location?.hasPrefix("http://localhost:52001/cb?") == true)
        let session = try TestServer.Session(try await app.redeem(try #require(back.fields["code"]), at: test))
        #expect(try await test.client.get("/v1/me", token: session.access).status == 200)
        #expect(try await test.client.get("/v1/sessions", token: session.access).status == 403)
        sessions.append(session.id)
      }
      for page in ["/account/apps", "/account/devices", "/account/devices/end", "/account/activity"] {
        #expect(try await browser.get(page).text.contains("Ada’s tool, a program that registered itself"), "\(page)")
      }
      let devices = try await browser.get("/account/devices")
      let ended = try await browser.press("end", on: devices, at: "/account/devices", [("session", sessions[0])])
      #expect(ended.text.contains("Ada’s tool, a program that registered itself is signed out"))
      let elsewhere = try await browser.get(app.page(changing: ["redirect_uri": "http://localhost:52001/other"]))
      #expect(elsewhere.status == 400 && elsewhere.location == nil)
    }
  }

  @Test func `has its own name, also if browsers are called so`() async throws {
    try await run { test in
      let body = #"{"client_name":"A browser","redirect_uris":["http://localhost/cb"]}"#
      let session = try await app(test, body).session(test)
      #expect(try await test.client.get("/v1/me", token: session.access).status == 200)
      let browser = try await Browser.signedIn(test)
      for page in ["/account/devices?lang=de", "/account/activity?lang=de"] {
        #expect(try await browser.get(page).text.contains("A browser, ein Programm, das sich selbst"), "\(page)")
      }
    }
  }

  @Test func `may request what it registered for and the operator allows, and no code for a device`() async throws {
    try await run { test in
      var app = try await app(test)
      app.scope = "profile openid offline_access"
      app.more = [("resource", "https://mcp.example.org/")]
      let tokens = try await app.redeem(try await app.code(Browser(test.client.base)), at: test)
      #expect(tokens.json["scope"] == "profile")
      #expect(tokens.claims("access_token")["aud"] == "https://mcp.example.org/")
      let device = try await test.oauth("/oauth/device_authorization", [("client_id", app.id)])
      #expect(device.json["error"] == "unauthorized_client")
    }
  }

  @Test func `has a name of at most 40 visible characters`() async throws {
    let long = String(repeating: "x", count: 41)
    let names: [(String, String?)] = [
      (#"a\u202eb\u200b (c)"#, "ab c"), (#" \u3164\u2800"#, nil), (long, String(long.dropLast())),
    ]
    try await run { test in
      for (name, shown) in names {
        let body = #"{"client_name":"\#(name)","redirect_uris":["http://localhost/"]}"#
        let answer = try await test.client.post("/oauth/register", json: body)
        #expect(answer.status == 201 && answer.json["client_name"] == shown)
      }
    }
  }

  @Test func `is one of ten an hour from an address`() async throws {
    try await run(limits: .standard) { test in
      for _ in 0..<10 { _ = try await app(test) }
      let answer = try await test.client.post("/oauth/register", json: Self.body)
      #expect(answer.status == 429 && answer.json["error"] == "temporarily_unavailable")
      #expect(answer.headers["retry-after"] == "360")
      test.clock.advance(by: .seconds(360))
      _ = try await app(test)
    }
  }

  @Test func `is forgotten after a day without a session, and long after its last one`() async throws {
    try await run { test in
      let registry = test.server.registry
      let (unused, used) = (try await app(test), try await app(test))
      let session = try await used.session(test)
      #expect(try await test.client.get("/v1/me", token: session.access).status == 200)
      let day = test.clock.now.advanced(by: RegisteredClient.trial)
      #expect(try await registry.registeredClient(unused.id, now: day.advanced(by: .milliseconds(-1))) != nil)
      #expect(try await registry.registeredClient(unused.id, now: day) == nil)
      test.clock.advance(by: .seconds(30 * 86_400))
      #expect(try await used.refresh(session.refresh, at: test).status == 200)
      let row = try await registry.session(SessionID(session.id), now: test.clock.now)
      let end = try #require(row?.expiry).advanced(by: RegisteredClient.memory)
      #expect(try await registry.registeredClient(used.id, now: end.advanced(by: .milliseconds(-1))) != nil)
      #expect(try await registry.registeredClient(used.id, now: end) == nil)
    }
  }

  @Test func `makes room for others until a user has allowed it something`() async throws {
    try await run { test in
      let (unused, allowed) = (try await app(test), try await app(test))
      let code = try await allowed.code(Browser(test.client.base))
      let now = test.clock.now
      let others = (2..<RegisteredClient.most).map { number in
        let id = "registered-\(number)"
        let client = RegisteredClient(id: id, name: nil, redirectURIs: [], scopes: [], registeredAt: now)
        return RegistryChange.createItem(
          StoredItem(
            id: StoredItemID(.registration, id), kind: .registration, subject: "registrations",
            payload: PayloadCoding.text(client), createdAt: now, expiresAt: now.advanced(by: RegisteredClient.memory)))
      }
      try await test.store.write(others, events: [])
      let new = try await app(test)
      #expect(try await test.server.registry.registeredClient(unused.id, now: now) == nil)
      #expect(try await allowed.redeem(code, at: test).status == 200)
      _ = try await new.session(test)
      let full = try await test.client.post("/oauth/register", json: Self.body)
      #expect(full.status == 503 && full.json["error"] == "temporarily_unavailable")
      #expect(full.headers["retry-after"] == "3600")
    }
  }

  @Test func `is removed with its sessions by an administrator, and no configured client is`() async throws {
    let clients = try TestServer.clients()
    try await AdministeredServer.run {
      $0.clientRegistration = StrangerRights(scopes: ["profile"])
      $0.clients = clients
    } body: { admin, test in
      _ = try await test.signUp()
      let app = try await app(test)
      let session = try await app.session(test)
      #expect(try await admin.send("DELETE", "/clients/app").status == 404)
      #expect(try await admin.send("DELETE", "/clients/\(app.id)").json["ended"] == 1)
      #expect(try await admin.get("/clients").json[list: "clients"].count == clients.count)
      #expect(try await app.refresh(session.refresh, at: test).json["error"] == "invalid_grant")
      #expect(try await admin.send("DELETE", "/clients/\(app.id)").status == 404)
    }
  }

  @Test func `redeems no code when it is forgotten, and is told so`() async throws {
    try await run { test in
      let app = try await app(test)
      let code = try await app.code(Browser(test.client.base))
      #expect(try await app.redeem("made up", at: test).json["error"] == "invalid_grant")
      #expect(try await test.server.registry.forgetClient(app.id, now: test.clock.now))
      for code in [code, "made up"] {
        let refused = try await app.redeem(code, at: test)
        #expect(refused.status == 401 && refused.json["error"] == "invalid_client")
      }
    }
  }

  @Test func `keeps its sessions when it is forgotten, and registers anew for the next sign-in`() async throws {
    try await run { test in
      let app = try await app(test)
      let session = try await app.session(test)
      let administration = test.server.administration(by: .machineUser("bob"))
      #expect(try await administration.registeredClients().map(\.hasRegisteredItself) == [true])
      #expect(try await test.server.registry.forgetClient(app.id, now: test.clock.now))
      #expect(try await !test.server.registry.forgetClient(app.id, now: test.clock.now))
      #expect(try await app.refresh(session.refresh, at: test).status == 200)
      let page = try await Browser(test.client.base).get(app.page())
      #expect(page.status == 400 && page.location == nil && page.text.contains("not registered"))
      let pushed = try await test.oauth(
        "/oauth/par",
        [
          ("client_id", app.id), ("redirect_uri", app.redirect), ("response_type", "code"),
          ("code_challenge", app.challenge), ("code_challenge_method", "S256"),
        ])
      #expect(pushed.status == 401 && pushed.json["error"] == "invalid_client")
      let audit = try await administration.auditedActions(limit: 100).map(\.audited.action)
      #expect(audit.contains("client.registered") && audit.contains("client.removed"))
    }
  }
}
#endif
