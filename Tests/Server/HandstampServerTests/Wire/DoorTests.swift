#if Programs
import HTTPTypes
import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

/// A rule holds at every door: each route that changes something says which rules it is under, and each of these cells is tried.
@Suite(.timeLimit(.minutes(10))) struct `A rule of the server` {
  enum Rule: CaseIterable, Sendable {
    /// People without an account get none by themselves while sign-up is closed.
    case closed
    /// A session alone may not do it: it takes a recent proof.
    case proof
    /// A new password has to be good enough.
    case policy
    /// A disabled account lets no one in.
    case disabled
    /// A password alone is not enough for an account with an authenticator app.
    case factor
    /// A recent proof with one factor is not enough where an app or the operator's rule asks for two.
    case strong
  }

  /// The routes that change something, and the rules that they are under.
  private static let rows: [String: Set<Rule>] = [
    "POST /v1/sign-up": [.closed, .policy], "POST /v1/sign-up/confirm": [.closed, .policy],
    "POST /v1/sign-in/anonymous": [.closed], "POST /v1/upgrade": [.closed, .policy],
    "POST /v1/upgrade/passkey/options": [.closed],
    "POST /sign-up": [.closed, .policy], "POST /sign-up/confirm": [.closed, .policy],
    // Apple's own tests close it: it takes a token of Apple's.
    "POST /v1/sign-in/apple": [],
    // The providers' own tests close it: it takes a token of a provider's.
    "POST /v1/sign-in/provider": [],
    "POST /v1/sign-in": [.disabled, .factor], "POST /v1/session": [.disabled, .factor],
    "POST /sign-in": [.disabled, .factor],
    // A provider's own tests close them: they take tokens that its keys have signed, and let no one in.
    "POST /sign-in/with/{provider}/logout": [], "POST /sign-in/with/{provider}/events": [],
    "POST /v1/sign-in/passkey": [], "POST /v1/sign-in/passkey/options": [], "POST /passkey/options": [],
    "POST /recover": [.disabled],
    "POST /v1/passkeys": [.proof, .strong], "POST /v1/passkeys/options": [.proof, .strong],
    "DELETE /v1/passkeys/{id}": [.proof, .strong],
    "POST /v1/password": [.policy, .strong], "POST /v1/reauthenticate": [.factor], "DELETE /v1/me": [.strong],
    // It is for accounts without a factor of their own.
    "POST /v1/reauthenticate/mail": [],
    "POST /v1/password-reset": [], "POST /v1/password-reset/confirm": [.policy, .disabled],
    "POST /forgot-password": [], "POST /reset-password": [.policy, .disabled],
    "DELETE /v1/sessions": [.proof], "DELETE /v1/sessions/{id}": [.proof], "PATCH /v1/sessions/{id}": [.proof],
    "POST /v1/sessions/end-others": [.proof], "POST /v1/sign-out": [], "PUT /v1/device/push-token": [],
    "POST /v1/session/confirm": [], "DELETE /v1/session": [], "POST /v1/session/token": [],
    "POST /account": [], "POST /account/email": [.proof, .strong], "POST /account/email/confirm": [],
    "POST /account/confirm": [],
    "POST /account/security": [.proof, .policy, .factor, .strong], "POST /account/passkey/options": [.proof, .strong],
    "POST /account/devices": [.proof], "POST /account/devices/end": [.proof], "POST /account/apps": [.proof],
    "POST /account/data": [.proof, .strong], "POST /account/delete": [.strong], "POST /sign-out": [],
    "POST /device": [.factor], "POST /oauth/authorize": [.factor], "POST /oauth/logout": [], "POST /oauth/userinfo": [],
    "POST /oauth/token": [.disabled], "POST /oauth/revoke": [], "POST /oauth/introspect": [],
    "POST /oauth/device_authorization": [], "POST /oauth/par": [], "POST /oauth/register": [],
  ]

  @Test func `is stated for every route that changes something`() throws {
    let configuration = ServerConfiguration { $0.clientRegistration = StrangerRights(scopes: ["profile"]) }
    let all = try OpenAPIDocument(for: configuration).operations.filter { $0.method != "GET" }
      .map { "\($0.method) \($0.path)" }
    #expect(Set(all) == Set(Self.rows.keys))
  }

  /// The doors of each action of an account's owner.
  private static let doors: [OwnerAction: [String]] = [
    .signOut: ["POST /v1/sign-out", "POST /sign-out"], .renameOwnDevice: [], .rename: ["POST /account"],
    .allowClient: ["POST /oauth/authorize", "POST /device"],
    .upgrade: ["POST /v1/upgrade", "POST /v1/upgrade/passkey/options"],
    .cancelEmailChange: [], .confirmEmailChange: ["POST /account/email/confirm"],
    .endDevices: [
      "DELETE /v1/sessions", "DELETE /v1/sessions/{id}", "POST /v1/sessions/end-others", "POST /account/devices",
      "POST /account/devices/end",
    ], .renameDevice: ["PATCH /v1/sessions/{id}"], .withdrawConsent: ["POST /account/apps"],
    .addPasskey: [
      "POST /v1/passkeys", "POST /v1/passkeys/options", "POST /account/passkey/options", "POST /account/security",
    ], .removePasskey: ["DELETE /v1/passkeys/{id}", "POST /account/security"],
    .addApp: ["POST /account/security"], .removeApp: ["POST /account/security"],
    .makeRecoveryCodes: ["POST /account/security"], .link: ["POST /account/security"],
    .unlink: ["POST /account/security"], .changeEmail: ["POST /account/email"],
    .changePassword: ["POST /v1/password", "POST /account/security"], .setPassword: ["POST /account/security"],
    .removePassword: ["POST /account/security"], .download: ["POST /account/data"],
    .delete: ["DELETE /v1/me", "POST /account/delete"],
  ]

  @Test func `is stated for every door of an owner’s action`() {
    #expect(Set(OwnerAction.allCases) == Set(Self.doors.keys))
    for (action, doors) in Self.doors {
      for door in doors {
        switch action.proof {
        case .session: #expect(Self.rows[door] != nil, "\(door)")
        case .oneFactor: #expect(Self.rows[door]?.contains(.proof) == true, "\(door)")
        case .strong, .strongOrRecovery: #expect(Self.rows[door]?.contains(.strong) == true, "\(door)")
        }
      }
    }
  }

  private func routes(_ rule: Rule) -> [String] { Self.rows.filter { $0.value.contains(rule) }.keys.sorted() }

  private static let device = #""device":{"id":"d-1","name":"phone","platform":"iOS"}"#

  // MARK: Closed sign-up

  @Test func `that closes sign-up closes every door`() async throws {
    let post = Post()
    try await TestServer.run(mailer: post) {
      $0.signUp = .closed
    } body: { test in
      let (registry, now) = (test.server.registry, test.clock.now)
      let eve = try #require(EmailAddress("eve@example.org"))
      for route in routes(.closed) {
        // Mailed before sign-up was closed.
        let token = try await test.mailedConfirmation(of: eve)
        let guest = try await registry.signUp(
          email: nil, username: "", passwordHash: nil,
          SessionStart(device: DeviceInfo(id: DeviceID("g"), name: "", platform: "")), now: now)
        let access = try await access(of: guest, test)
        let before = try await registry.accounts(limit: 99).count
        let answer: Int
        switch route {
        case "POST /v1/sign-up":
          answer = try await test.client.post("/v1/sign-up", json: TestServer.signUpBody("eve@example.org")).status
        case "POST /v1/sign-up/confirm":
          answer = try await test.client.post("/v1/sign-up/confirm", json: TestServer.confirmBody(token)).status
        case "POST /v1/sign-in/anonymous":
          answer = try await test.client.post("/v1/sign-in/anonymous", json: "{\(Self.device)}").status
        case "POST /v1/upgrade":
          answer = try await test.client.post(
            "/v1/upgrade", token: access, json: TestServer.signUpBody("eve@example.org")
          ).status
        case "POST /v1/upgrade/passkey/options":
          answer = try await test.client.post(
            "/v1/upgrade/passkey/options", token: access, json: #"{"email":"eve@example.org","username":"Eve"}"#
          ).status
        case "POST /sign-up":
          answer = try await form(
            test, "/sign-up", "sign-up",
            [("name", "Eve"), ("email", "eve@example.org"), ("new_password", TestServer.password)])
        default:
          let sent = try await form(test, "/sign-up/confirm", "send", [("email", "eve@example.org")])
          #expect(sent == 403, "\(route)")
          answer = try await form(
            test, "/sign-up/confirm", "confirm", [("token", token), ("new_password", TestServer.password)])
        }
        #expect(answer == 403, "\(route)")
        #expect(try await registry.accounts(limit: 99).count == before, "\(route)")
        #expect(try await registry.account(email: eve) == nil, "\(route)")
      }
      #expect(post.all.isEmpty)
    }
  }

  /// Sends the form of a page, which may not be shown.
  private func form(
    _ test: TestServer, _ path: String, _ action: String, _ fields: [(String, String)], by browser: Browser? = nil
  ) async throws -> Int {
    let browser = browser ?? Browser(test.client.base)
    let page = try await browser.get("/sign-in")
    let csrf = page.csrf != nil ? page : try await browser.get("/account")
    return try await browser.press(action, on: csrf, at: path, fields).status
  }

  private func access(of new: NewSession, _ test: TestServer) async throws -> String {
    try #require(try await test.refresh(test.token(of: new), key: .fresh).json["access_token"])
  }

  // MARK: Proofs

  @Test func `that asks for a recent proof asks at every door`() async throws {
    let clients = try TestServer.clients()
    try await TestServer.run(mailer: Post()) {
      $0.accessTokenLife = .seconds(86_400)
      $0.clients = clients
    } body: { test in
      let phone = try await test.signUp()
      let laptop = try await test.signIn()
      let browser = try await Browser.signedIn(test)
      _ = try await OAuthApp().code(browser)
      test.clock.advance(by: .seconds(3600))
      for route in routes(.proof) {
        let parts = route.split(separator: " ").map(String.init)
        let path = parts[1].replacing("{id}", with: laptop.id)
        guard path != "/account/passkey/options" else {
          let token = try await browser.get("/account").csrf ?? ""
          let answer = try await browser.send("POST", path, headers: ["X-CSRF-Token": token])
          #expect(answer.status == 403, "\(route)")
          continue
        }
        guard !path.hasPrefix("/account") else {
          for (action, fields) in Self.forms[path] ?? [] {
            let page = try await browser.get("/account")
            var answer = try await browser.press(action, on: page, at: path, fields(laptop.id))
            if answer.status == 303 { answer = try await browser.follow(answer) }
            #expect(answer.title == "Confirm it’s you", "\(route) \(action): \(answer.status) \(answer.title)")
          }
          #expect(Self.forms[path] != nil, "\(route)")
          continue
        }
        let body = parts[0] == "PATCH" ? #"{"name":"mine"}"# : path == "/v1/passkeys" ? #"{"passkey":"{}"}"# : nil
        let answer = try await test.client.send(
          parts[0], path, token: phone.access, headers: body == nil ? [:] : ["Content-Type": "application/json"],
          body: body.map { Array($0.utf8) })
        #expect(answer.code == "reauthentication_required", "\(route)")
      }
      #expect(try await test.client.get("/v1/me", token: laptop.access).status == 200)
      #expect(try await test.server.registry.consents(of: AccountID(phone.account), now: test.clock.now).count == 1)
    }
  }

  /// The forms that a session alone may not send.
  private static let forms: [String: [(String, @Sendable (String) -> [(String, String)])]] = [
    "/account/email": [("change", { _ in [("new_email", "ada@new.example.org")] })],
    "/account/security": [
      ("unlock", { _ in [] }), ("add-passkey", { _ in [("passkey", "{}")] }),
      ("remove-passkey", { _ in [("passkey_id", "x")] }), ("remove-password", { _ in [] }), ("make-codes", { _ in [] }),
      ("add-totp", { _ in [] }), ("confirm-totp", { _ in [("code", "123456")] }), ("remove-totp", { _ in [] }),
      ("link", { _ in [("provider", "office")] }), ("unlink", { _ in [("identity", "x")] }),
    ],
    "/account/devices": [("end", { [("session", $0)] })], "/account/devices/end": [("end-others", { _ in [] })],
    "/account/apps": [("remove", { _ in [("app", "app")] })], "/account/data": [("download", { _ in [] })],
  ]

  // MARK: Passwords

  @Test func `that refuses a weak password refuses it at every door`() async throws {
    try await TestServer.run(mailer: Post()) { test in
      let (registry, now) = (test.server.registry, test.clock.now)
      let ada = try await test.signUp()
      let browser = try await Browser.signedIn(test)
      let record = try #require(try await registry.account(AccountID(ada.account)))
      let weak = "password"
      for route in routes(.policy) {
        let eve = try #require(EmailAddress("eve@example.org"))
        let token = try await test.mailedConfirmation(of: eve)
        let reset = try await test.mailedReset(of: record)
        let guest = try await registry.signUp(
          email: nil, username: "", passwordHash: nil,
          SessionStart(device: DeviceInfo(id: DeviceID("g"), name: "", platform: "")), now: now)
        var (answer, sight): (WireClient.Answer?, Browser.BrowserResponse?)
        let new = [("new_password", weak)]
        switch route {
        case "POST /v1/sign-up":
          answer = try await test.client.post(
            "/v1/sign-up", json: TestServer.signUpBody("eve@example.org", password: weak))
        case "POST /v1/sign-up/confirm":
          answer = try await test.client.post(
            "/v1/sign-up/confirm", json: TestServer.confirmBody(token, password: weak))
        case "POST /v1/upgrade":
          answer = try await test.client.post(
            "/v1/upgrade", token: try await access(of: guest, test),
            json: TestServer.signUpBody("eve@example.org", password: weak))
        case "POST /v1/password":
          answer = try await test.client.post(
            "/v1/password", token: ada.access,
            json: #"{"current":"\#(TestServer.password)","new":"\#(weak)","end_others":false}"#)
        case "POST /v1/password-reset/confirm":
          answer = try await test.client.post(
            "/v1/password-reset/confirm", json: #"{"token":"\#(reset)","new_password":"\#(weak)"}"#)
        case "POST /sign-up":
          sight = try await Browser(test.client.base).fill(
            "/sign-up", "sign-up", [("name", "Eve"), ("email", "eve@example.org")] + new)
        case "POST /sign-up/confirm":
          let path = "/sign-up/confirm?token=\(token)"
          sight = try await Browser(test.client.base).fill(path, "confirm", [("token", token)] + new)
        case "POST /reset-password":
          let path = "/reset-password?token=\(reset)"
          sight = try await Browser(test.client.base).fill(path, "reset", [("token", reset)] + new)
        default:
          sight = try await browser.fill(
            "/account/security", "change-password", [("current_password", TestServer.password)] + new)
        }
        if let answer { #expect(answer.code == "weak_password", "\(route)") }
        if let sight { #expect(sight.text.contains("one of the first that attackers try"), "\(route)") }
        #expect(answer != nil || sight != nil, "\(route)")
        #expect(try await registry.account(email: eve) == nil, "\(route)")
      }
      #expect(try await registry.account(record.id)?.passwordHash == record.passwordHash)
    }
  }

  // MARK: Second factors

  @Test func `that asks for a second factor asks at every door`() async throws {
    let clients = try TestServer.clients()
    try await TestServer.run(mailer: Post()) {
      $0.clients = clients
      $0.accessTokenLife = .seconds(86_400)
    } body: { test in
      let ada = try await test.signUp()
      let browser = try await Browser.signedIn(test)
      _ = try await test.addApp(to: ada)
      test.clock.advance(by: .seconds(3600))
      let before = try await test.server.registry.sessions(of: AccountID(ada.account), now: test.clock.now).count
      for route in routes(.factor) {
        var (answer, sight): (WireClient.Answer?, Browser.BrowserResponse?)
        switch route {
        case "POST /v1/sign-in": answer = try await test.signIn(code: nil)
        case "POST /v1/session":
          answer = try await test.client.send(
            "POST", "/v1/session", headers: ["Content-Type": "application/json", "Origin": "https://id.example.org"],
            body: Array(#"{"email":"ada@example.org","password":"\#(TestServer.password)"}"#.utf8))
        case "POST /v1/reauthenticate":
          answer = try await test.client.post(
            "/v1/reauthenticate", token: ada.access, json: #"{"password":"\#(TestServer.password)"}"#)
        case "POST /account/security":
          let asked = try await browser.fill("/account/security", "unlock")
          sight = try await browser.press(
            "sign-in", on: asked, at: "/account/security", [("password", TestServer.password)])
        case "POST /oauth/authorize": sight = try await Browser(test.client.base).signIn(at: OAuthApp().page())
        case "POST /device": sight = try await Browser(test.client.base).signIn(at: "/device")
        default: sight = try await Browser(test.client.base).signIn(at: "/sign-in")
        }
        if let answer { #expect(answer.code == "second_factor_required", "\(route)") }
        if let sight { #expect(sight.title == "Enter your code", "\(route)") }
        #expect(answer != nil || sight != nil, "\(route)")
      }
      let after = try await test.server.registry.sessions(of: AccountID(ada.account), now: test.clock.now).count
      #expect(after == before)
    }
  }

  // MARK: Stronger proofs

  /// Someone who knows the password has signed in a moment ago, in an app and in a browser.
  @Test(arguments: [AuthenticationContext.multiFactor, .phishingResistant])
  func `that asks for the stronger proof asks at every door`(_ context: AuthenticationContext) async throws {
    let hasApp = context == .multiFactor
    try await TestServer.run(mailer: Post()) {
      if !hasApp { $0.requiredAssurance = AssuranceRequirement(groups: ["*": .phishingResistant]) }
    } body: { test in
      let ada = try await test.signUp()
      let browser = try await Browser.signedIn(test)
      let app = hasApp ? try await test.addApp(to: ada) : nil
      if !hasApp { try await test.addPasskey("one", to: ada) }
      let registry = test.server.registry
      let record = try #require(try await registry.account(AccountID(ada.account)))
      let (old, new) = (TestServer.password, "another password 7")
      let bodies = [
        "/v1/password": #"{"current":"\#(old)","new":"\#(new)","end_others":true}"#,
        "/v1/me": #"{"password":"\#(old)"}"#, "/v1/passkeys": #"{"passkey":"{}"}"#,
      ]
      var forms = Self.forms
      forms["/account/security", default: []].append(
        ("change-password", { _ in [("current_password", old), ("new_password", new)] }))
      forms["/account/delete"] = [("delete", { _ in [("typed_email", "ada@example.org"), ("password", old)] })]
      for route in routes(.strong) {
        let parts = route.split(separator: " ").map(String.init)
        let path = parts[1].replacing("{id}", with: "one")
        if path == "/account/passkey/options" {
          let token = try await browser.get("/account").csrf ?? ""
          let answer = try await browser.send("POST", path, headers: ["X-CSRF-Token": token])
          #expect(answer.status == 403, "\(route)")
        } else if path.hasPrefix("/account") {
          for (action, fields) in forms[path] ?? [] {
            let page = try await browser.get("/account")
            let answer = try await browser.press(action, on: page, at: path, fields(ada.id))
            #expect(answer.title == "Confirm it’s you", "\(route) \(action): \(answer.status) \(answer.title)")
            #expect(answer.text.contains(#"type="password""#) == hasApp, "\(route) \(action)")
          }
          #expect(forms[path] != nil, "\(route)")
        } else {
          let body = bodies[path]
          let answer = try await test.client.send(
            parts[0], path, token: ada.access, headers: body == nil ? [:] : ["Content-Type": "application/json"],
            body: body.map { Array($0.utf8) })
          let takesCode = hasApp && ["/v1/password", "/v1/me"].contains(path)
          #expect(answer.status == 403, "\(route)")
          #expect(answer.code == (takesCode ? "second_factor_required" : "reauthentication_required"), "\(route)")
          if !takesCode { #expect(answer.json["acr_values"] == context.rawValue, "\(route)") }
        }
      }
      #expect(try await registry.account(record.id) == record)
      #expect(try await registry.emailChange(of: record.id, now: test.clock.now) == nil)
      #expect(try await test.client.get("/v1/me", token: ada.access).status == 200)
      // The control: with the code, it works.
      guard let app else { return }
      func body(_ fields: String) -> String { #"{\#(fields),"code":"\#(app.code(at: test.clock.now))"}"# }
      let changed = try await test.client.post(
        "/v1/password", token: ada.access, json: body(#""current":"\#(old)","new":"\#(new)","end_others":false"#))
      #expect(changed.status == 204)
      test.clock.advance(by: .seconds(30))
      let deleted = try await test.client.send(
        "DELETE", "/v1/me", token: ada.access, headers: ["Content-Type": "application/json"],
        body: Array(body(#""password":"\#(new)""#).utf8))
      #expect(deleted.status == 204)
    }
  }

  // MARK: Disabled accounts

  @Test func `that disables an account closes every door to it`() async throws {
    let clients = try TestServer.clients()
    try await TestServer.run(mailer: Post()) {
      $0.clients = clients
    } body: { test in
      let registry = test.server.registry
      let ada = try await test.signUp()
      let browser = try await Browser.signedIn(test)
      let codes = try await browser.fill("/account/security", "make-codes")
      let recovery = try #require(codes.text.firstMatch(of: /<li><code>([^<]+)<\/code>/)).output.1
      let code = try await OAuthApp().code(browser)
      let record = try #require(try await registry.account(AccountID(ada.account)))
      let reset = try await test.mailedReset(of: record)
      _ = try await test.server.administration(by: .machineUser("bob")).disable(record.id)
      for route in routes(.disabled) {
        let status: Int
        let stranger = Browser(test.client.base)
        switch route {
        case "POST /v1/sign-in":
          status = try await test.client.post("/v1/sign-in", json: TestServer.signInBody("ada@example.org")).status
        case "POST /v1/session":
          status = try await test.client.send(
            "POST", "/v1/session", headers: ["Content-Type": "application/json", "Origin": "https://id.example.org"],
            body: Array(#"{"email":"ada@example.org","password":"\#(TestServer.password)"}"#.utf8)
          ).status
        case "POST /sign-in": status = try await stranger.signIn(at: "/sign-in").status
        case "POST /recover":
          status = try await stranger.fill(
            "/recover", "recover", [("email", "ada@example.org"), ("recovery_code", String(recovery))]
          ).status
        case "POST /v1/password-reset/confirm":
          status = try await test.client.post(
            "/v1/password-reset/confirm", json: #"{"token":"\#(reset)","new_password":"a new password 7"}"#
          ).status
        case "POST /reset-password":
          let fields = [("token", reset), ("new_password", "a new password 7")]
          status = try await stranger.fill("/reset-password?token=\(reset)", "reset", fields).status
        default: status = try await OAuthApp().redeem(code, at: test).status
        }
        #expect((400..<500).contains(status), "\(route): \(status)")
      }
      #expect(try await registry.sessions(of: record.id, now: test.clock.now).isEmpty)
    }
  }
}
#endif
