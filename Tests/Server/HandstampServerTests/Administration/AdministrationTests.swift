#if Programs
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampTesting
import Testing

/// A server with one administrator.
struct AdministeredServer {
  static let token = "hsa-0123456789abcdef0123456789abcdef"
  let test: TestServer

  static func run(
    store: FaultyStore = FaultyStore(), mailer: (any Mailer)? = nil,
    _ configure: (inout ServerConfiguration) -> Void = { _ in },
    body: (AdministeredServer, TestServer) async throws -> Void
  ) async throws {
    let administrators = [
      try Administrator(name: "ops", token: Secret("another-0123456789abcdef0123456789abcdef")),
      try Administrator(name: "eve@example.org", token: Secret(token)),
    ]
    try await TestServer.run(store: store, mailer: mailer) {
      $0.administrators = administrators
      configure(&$0)
    } body: { test in
      try await body(AdministeredServer(test: test), test)
    }
  }

  func get(_ path: String) async throws -> WireClient.Answer {
    try await test.client.get("/admin/v1" + path, token: Self.token)
  }

  func send(_ method: String, _ path: String) async throws -> WireClient.Answer {
    try await test.client.send(method, "/admin/v1" + path, token: Self.token)
  }

  func post(_ path: String, json: String) async throws -> WireClient.Answer {
    try await test.client.post("/admin/v1" + path, token: Self.token, json: json)
  }

  func audit() async throws -> [WireClient.JSON] { try await get("/audit?limit=1000").json[list: "audit"] }

  func actions() async throws -> [String] { try await audit().compactMap { $0["action"] } }
  /// Those of administrators.
  func changes() async throws -> [WireClient.JSON] {
    try await audit().filter { ($0["actor"] as String?)?.hasPrefix("admin:") == true }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `Administration over HTTP` {
  @Test func `is off unless there are administrators`() async throws {
    try await TestServer.run { test in
      let off = try await test.client.get("/admin/v1/accounts", token: AdministeredServer.token)
      let unknown = try await test.client.get("/nowhere", token: AdministeredServer.token)
      #expect(off.status == 404)
      #expect(off.body == unknown.body)
      #expect(try await test.client.post("/admin/v1/accounts", json: "{}").status == 404)
    }
  }

  @Test func `admits only the tokens of administrators`() async throws {
    try await AdministeredServer.run { admin, test in
      let ada = try await test.signUp()
      let paths: [(String, String)] = [
        ("GET", "/accounts"), ("POST", "/accounts"), ("GET", "/accounts/\(ada.account)"),
        ("DELETE", "/accounts/\(ada.account)"), ("POST", "/accounts/\(ada.account)/disable"),
        ("POST", "/accounts/\(ada.account)/enable"), ("POST", "/accounts/\(ada.account)/reset"),
        ("GET", "/accounts/\(ada.account)/export"), ("GET", "/accounts/\(ada.account)/sessions"),
        ("DELETE", "/accounts/\(ada.account)/sessions"), ("DELETE", "/accounts/\(ada.account)/sessions/\(ada.id)"),
        ("GET", "/clients"), ("DELETE", "/clients/app"), ("GET", "/audit"), ("GET", "/stats"),
      ]
      for (method, path) in paths {
        let missing = try await test.client.send(method, "/admin/v1" + path)
        #expect(missing.status == 401 && missing.code == "token_missing", "\(method) \(path)")
        for token in [ada.access, AdministeredServer.token + "0", String(AdministeredServer.token.dropLast()), ""] {
          let refused = try await test.client.send(method, "/admin/v1" + path, token: token)
          #expect(refused.status == 401 && refused.isProblem, "\(method) \(path)")
        }
      }
      #expect(try await test.client.get("/v1/me", token: ada.access).status == 200)
      let answer = try await admin.get("/accounts")
      #expect(answer.status == 200)
      #expect(answer.headers["cache-control"] == "no-store")
      #expect(answer.headers["set-cookie"] == nil && answer.headers["access-control-allow-origin"] == nil)
    }
  }

  @Test func `bounds attempts with wrong tokens, and not those with right ones`() async throws {
    try await AdministeredServer.run {
      $0.limits = .standard
    } body: { admin, test in
      var statuses: [Int] = []
      for _ in 0..<12 { statuses.append(try await test.client.get("/admin/v1/stats", token: "wrong").status) }
      #expect(statuses == Array(repeating: 401, count: 10) + [429, 429])
      #expect(try await admin.get("/stats").status == 200)
    }
  }

  @Test func `creates accounts while sign-up is closed, with a code or a password`() async throws {
    try await AdministeredServer.run(mailer: Post()) {
      $0.signUp = .closed
      $0.mail.link = "https://app.example.org/{action}#{token}"
    } body: { admin, test in
      let invited = try await admin.post("/accounts", json: #"{"email":"Ada@example.org"}"#)
      #expect(invited.status == 201)
      #expect(invited.json[object: "account"]["username"] == "Ada")
      let reset = invited.json[object: "reset"]
      let code: String = try #require(reset["code"])
      #expect(reset["link"] == "https://app.example.org/reset#\(code)")
      let confirmed = try await test.client.post(
        "/v1/password-reset/confirm", json: #"{"token":"\#(code)","new_password":"\#(TestServer.password)"}"#)
      #expect(confirmed.status == 204)
      _ = try await test.signIn()
      let made = try await admin.post(
        "/accounts", json: #"{"email":"bob@example.org","username":"Bob","password":"\#(TestServer.password)"}"#)
      #expect(made.status == 201)
      #expect(made.json["reset"] as String? == nil)
      _ = try await test.signIn("bob@example.org")
      for (body, status, code) in [
        (#"{"email":"ada@example.org"}"#, 409, "email_taken"),
        (#"{"email":"bob@example.org","password":"\#(TestServer.password)"}"#, 409, "email_taken"),
        (#"{"email":"x@example.org","password":"password"}"#, 400, "weak_password"),
        (#"{"email":"nowhere"}"#, 400, "invalid_request"),
        (#"{"email":"x@example.org","username":"a\u0007"}"#, 400, "invalid_request"),
      ] {
        let refused = try await admin.post("/accounts", json: body)
        #expect(refused.status == status && refused.code == code, "\(body)")
      }
      #expect(try await admin.get("/stats").json["accounts"] == 2)
    }
  }

  @Test func `leads to the server's own page where no other is configured`() async throws {
    try await AdministeredServer.run { admin, _ in
      let reset = try await admin.post("/accounts", json: #"{"email":"ada@example.org"}"#).json[object: "reset"]
      let code: String = try #require(reset["code"])
      #expect(reset["link"] == "https://id.example.org/reset-password?token=\(code)")
    }
  }

  @Test func `lists accounts in pages, and finds one by its address`() async throws {
    try await AdministeredServer.run { admin, test in
      var ids: [String] = []
      for number in 0..<5 { ids.append(try await test.signUp("\(number)@example.org").account) }
      var (seen, after): ([String], String) = ([], "")
      repeat {
        let page = try await admin.get("/accounts?limit=2" + (after.isEmpty ? "" : "&after=\(after)"))
        seen += page.json[list: "accounts"].compactMap { $0["id"] }
        after = page.json["next"] ?? ""
      } while !after.isEmpty
      #expect(seen == ids.sorted())
      let found = try await admin.get("/accounts?email=3@EXAMPLE.org")
      #expect(found.json[list: "accounts"].compactMap { $0["id"] } == [ids[3]])
      #expect(!found.text.contains("argon2"))
      #expect(try await admin.get("/accounts?email=9@example.org").status == 404)
      for wrong in ["limit=1001", "after=a%00"] { #expect(try await admin.get("/accounts?" + wrong).status == 400) }
      #expect(try await admin.get("/accounts/acc_none").status == 404)
    }
  }

  @Test func `disables an account: nothing signs in, and only its owner learns why`() async throws {
    try await AdministeredServer.run(mailer: Post()) { admin, test in
      let phone = try await test.signUp(device: "phone")
      let eve = try await test.signUp("eve@example.org")
      let code: String = try #require(
        try await admin.send("POST", "/accounts/\(phone.account)/reset").json["code"])
      let feed = try await WireStream(test.client, token: phone.access)
      _ = try await feed.next()
      let disabled = try await admin.send("POST", "/accounts/\(phone.account)/disable")
      #expect(disabled.status == 200 && disabled.json["ended"] == 1)
      #expect(try await feed.next()?.name == "account-disabled")
      #expect(try await feed.next()?.json["reason"] == "account_closed")
      #expect(try await test.client.get("/v1/me", token: phone.access).json["reason"] == "account_closed")
      #expect(try await test.refresh(phone.refresh, key: .fresh).json["reason"] == "account_closed")
      func attempt(_ password: String) async throws -> WireClient.Answer {
        try await test.client.post("/v1/sign-in", json: TestServer.signInBody("ada@example.org", password: password))
      }
      let wrong = try await attempt("not this one")
      #expect(wrong.status == 401 && wrong.code == "wrong_credentials")
      let right = try await attempt(TestServer.password)
      #expect(right.status == 403 && right.code == "account_disabled")
      let again = try await test.client.post("/v1/sign-up", json: TestServer.signUpBody("ada@example.org"))
      #expect(again.code == "email_taken")
      let refused = try await admin.send("POST", "/accounts/\(phone.account)/reset")
      #expect(refused.status == 409 && refused.code == "account_disabled")
      #expect(try await admin.send("POST", "/accounts/\(phone.account)/disable").json["ended"] == 0)
      #expect(try await admin.get("/accounts/\(phone.account)").json[object: "account"]["state"] == "disabled")
      #expect(try await test.client.get("/v1/me", token: eve.access).status == 200)

      #expect(try await admin.send("POST", "/accounts/\(phone.account)/enable").status == 204)
      #expect(try await test.client.get("/v1/me", token: phone.access).status == 401, "its sessions stay ended")
      let late = try await test.client.post(
        "/v1/password-reset/confirm", json: #"{"token":"\#(code)","new_password":"another long one"}"#)
      #expect(late.code == "link_invalid", "codes from before are void")
      _ = try await test.signIn()
    }
  }

  @Test func `ends sessions of one account, and no other's`() async throws {
    try await AdministeredServer.run { admin, test in
      let phone = try await test.signUp(device: "phone")
      let laptop = try await test.signIn(device: "laptop")
      let eve = try await test.signUp("eve@example.org")
      let listed = try await admin.get("/accounts/\(phone.account)/sessions").json[list: "sessions"]
      #expect(Set(listed.compactMap { $0["id"] as String? }) == [phone.id, laptop.id])
      #expect(try await admin.send("DELETE", "/accounts/\(eve.account)/sessions/\(phone.id)").status == 404)
      let path = "/accounts/\(phone.account)/sessions"
      #expect(try await admin.send("DELETE", path + "/\(phone.id)").json["ended"] == 1)
      #expect(try await admin.send("DELETE", path + "/\(phone.id)").json["ended"] == 0)
      #expect(try await test.client.get("/v1/me", token: phone.access).json["reason"] == "revoked")
      #expect(try await admin.send("DELETE", path + "?but=\(laptop.id)").status == 400)
      #expect(try await test.client.get("/v1/me", token: laptop.access).status == 200)
      #expect(try await admin.send("DELETE", path).json["ended"] == 1)
      #expect(try await test.client.get("/v1/me", token: laptop.access).status == 401)
      #expect(try await test.client.get("/v1/me", token: eve.access).status == 200)
      #expect(try await admin.changes().map { $0["action"] } == ["session.ended", "sessions.ended"])
    }
  }

  @Test func `takes an account back, and ends what a client began`() async throws {
    try await AdministeredServer.run { admin, test in
      let ada = try await test.signUp()
      let before = try await admin.get("/accounts/\(ada.account)/credentials").json
      #expect(before["has_password"] == true && before["recovery_codes"] == 0)
      let taken = try await admin.send("POST", "/accounts/\(ada.account)/take-back")
      #expect(taken.status == 201 && taken.json["ended"] == 1)
      #expect(try await test.client.get("/v1/me", token: ada.access).status == 401)
      #expect(try await admin.get("/accounts/\(ada.account)/credentials").json["has_password"] == false)
      let code: String = try #require(taken.json[object: "reset"]["code"])
      let reset = try await test.client.post(
        "/v1/password-reset/confirm", json: #"{"token":"\#(code)","new_password":"\#(TestServer.password)"}"#)
      #expect(reset.status == 204)
      _ = try await test.signIn()
      #expect(try await admin.send("DELETE", "/clients/gone/sessions").json["ended"] == 0)
      #expect(try await admin.changes().map { $0["action"] } == ["account.taken_back"])
      #expect(try await admin.send("POST", "/accounts/other/take-back").status == 404)
    }
  }

  @Test func `deletes an account for good`() async throws {
    try await AdministeredServer.run { admin, test in
      let ada = try await test.signUp()
      #expect(try await admin.send("DELETE", "/accounts/\(ada.account)").json["ended"] == 1)
      #expect(try await test.client.get("/v1/me", token: ada.access).status == 401)
      for action in ["enable", "disable", "reset"] {
        let refused = try await admin.send("POST", "/accounts/\(ada.account)/\(action)")
        #expect(refused.status == 409 && refused.code == "account_deleted")
      }
      let shown = try await admin.get("/accounts/\(ada.account)").json[object: "account"]
      #expect(shown["state"] == "deleted" && shown["email"] as String? == nil)
      _ = try await test.signUp()
    }
  }

  @Test func `can delete a guest, but not disable one`() async throws {
    try await AdministeredServer.run { admin, test in
      let guest = try TestServer.Session(
        try await test.client.post(
          "/v1/sign-in/anonymous", json: #"{"device":{"id":"d","name":"d","platform":"p"}}"#))
      let refused = try await admin.send("POST", "/accounts/\(guest.account)/disable")
      #expect(refused.status == 409 && refused.code == "no_address")
      #expect(try await test.client.get("/v1/me", token: guest.access).status == 200)
      #expect(try await admin.send("DELETE", "/accounts/\(guest.account)").json["ended"] == 1)
    }
  }

  @Test func `gives out everything about a person, and no secret`() async throws {
    try await AdministeredServer.run(mailer: Post()) { admin, test in
      let ada = try await test.signUp(device: "phone")
      let laptop = try await test.signIn(device: "laptop")
      _ = try await test.signUp("eve@example.org", device: "tablet")
      _ = try await test.client.send(
        "PUT", "/v1/device/push-token", token: ada.access, headers: ["Content-Type": "application/json"],
        body: Array(#"{"token":"push-secret"}"#.utf8))
      _ = try await test.client.send("POST", "/v1/sign-out", token: laptop.access)
      let code: String = try #require(try await admin.send("POST", "/accounts/\(ada.account)/reset").json["code"])
      let export = try await admin.get("/accounts/\(ada.account)/export")
      #expect(export.status == 200 && export.headers["content-type"] == "application/json")
      #expect(export.json[object: "account"]["email"] == "ada@example.org")
      let sessions = export.json[list: "sessions"]
      #expect(sessions.map { $0[object: "device"]["name"] } == ["phone", "laptop"])
      #expect(sessions.map { $0["end_reason"] } == [nil, "signed_out"])
      #expect(
        export.json[list: "events"].map { $0["kind"] } == [
          "session-established", "session-established", "session-revoked",
        ])
      #expect(export.json[list: "remembered"].map { $0["kind"] } == ["device", "device"])
      #expect(
        export.json[list: "audit"].map { $0["action"] } == [
          "account.created", "session.began", "session.began", "password.reset_code_issued",
        ])
      for secret in ["argon2", "push-secret", "hst1.", "hsr1.", code, "tablet", ada.refresh] {
        #expect(!export.text.contains(secret), "\(secret)")
      }
      #expect(try await admin.actions().last == "account.exported")
    }
  }

  @Test func `is in the audit log with who, what, whom and from where, and not if it failed`() async throws {
    try await AdministeredServer.run { admin, test in
      let ada = try await test.signUp()
      test.store.fail(.writes)
      #expect(try await admin.send("POST", "/accounts/\(ada.account)/disable").status == 503)
      test.store.fail(.none)
      #expect(try await admin.changes().isEmpty)
      #expect(try await test.client.get("/v1/me", token: ada.access).status == 200)
      for action in ["disable", "enable"] {
        _ = try await admin.send("POST", "/accounts/\(ada.account)/\(action)")
        _ = try await admin.send("POST", "/accounts/\(ada.account)/\(action)")
      }
      let entries = try await admin.changes()
      #expect(entries.map { $0["action"] } == ["account.disabled", "account.enabled"], "a repeat changes nothing")
      for entry in entries {
        #expect(entry["actor"] == "admin:eve@example.org")
        #expect(entry["account"] == ada.account)
        #expect(entry["address"] == "127.0.0.1")
        #expect(entry["at"] == test.clock.now.description)
      }
      let first = try await admin.get("/audit?limit=1")
      let next: Int = try #require(first.json["next"])
      #expect(first.json[list: "audit"].map { $0["action"] } == ["account.created"])
      let rest = try await admin.get("/audit?limit=1&after=\(next)")
      #expect(rest.json[list: "audit"].map { $0["action"] } == ["session.began"])
      let about = try await admin.get("/audit?account=\(ada.account)&since=2000-01-01")
      #expect(about.json[list: "audit"].count == 4)
      #expect(try await admin.get("/audit?account=other").json[list: "audit"].isEmpty)
      #expect(try await admin.get("/audit?since=2999-01-01").json[list: "audit"].isEmpty)
      #expect(try await admin.get("/audit?since=yesterday").status == 400)
      #expect(try await admin.get("/audit?after=x").status == 400)
    }
  }

  @Test func `lists clients and counts rows`() async throws {
    let client = try ConfiguredClient(
      id: "cli", secretHash: Array(repeating: 7, count: 32), redirectURIs: ["http://127.0.0.1/callback"],
      scopes: ["profile"])
    try await AdministeredServer.run {
      $0.clients = [client]
    } body: { admin, test in
      _ = try await test.signUp()
      let clients = try await admin.get("/clients").json[list: "clients"]
      #expect(clients.map { $0["id"] } == ["cli"])
      #expect(clients.map { $0["is_confidential"] } == [true])
      #expect(try await admin.get("/stats").json["live_sessions"] == 1)
    }
  }

  @Test func `refuses administrators with weak tokens or unclear names`() throws {
    #expect(throws: ServerConfigurationError.administratorToken("a")) {
      try Administrator(name: "a", token: Secret(String(repeating: "x", count: 31)))
    }
    #expect(throws: ServerConfigurationError.administratorToken("a")) {
      try Administrator(name: "a", token: Secret(String(repeating: "x y", count: 31)))
    }
    for name in ["", "a b", String(repeating: "x", count: 65), "ä"] {
      #expect(throws: ServerConfigurationError.administratorName(name)) {
        try Administrator(name: name, tokenHash: Array(repeating: 0, count: 32))
      }
    }
    #expect(throws: ServerConfigurationError.administratorHash("a")) { try Administrator(name: "a", tokenHash: [1]) }
  }
}
#endif
