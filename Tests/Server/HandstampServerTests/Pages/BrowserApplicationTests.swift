#if Programs
import Foundation
import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

extension Browser.BrowserResponse {
  var json: WireClient.JSON {
    WireClient.JSON((try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any] ?? [:])
  }
}

/// A browser application: a page whose scripts see no cookie.
private struct WebApp {
  static let origin = "https://app.example.org"
  let browser: Browser
  var origin: String? = WebApp.origin
  var csrf: String?

  init(_ test: TestServer) { browser = Browser(test.client.base) }

  func call(
    _ method: String, _ path: String, json: String? = nil, headers more: [String: String] = [:]
  ) async throws -> Browser.BrowserResponse {
    var headers: [String: String] = [:]
    if let origin { headers["Origin"] = origin }
    if let csrf { headers["X-CSRF-Token"] = csrf }
    if json != nil { headers["Content-Type"] = "application/json" }
    return try await browser.send(method, path, headers: headers.merging(more) { $1 }, body: json)
  }

  mutating func signIn(password: String = TestServer.password) async throws -> Browser.BrowserResponse {
    let answer = try await call(
      "POST", "/v1/session", json: #"{"email":"ada@example.org","password":"\#(password)"}"#)
    csrf = answer.json["csrf_token"] ?? csrf
    return answer
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A browser application` {
  private func run(_ body: (TestServer, inout WebApp) async throws -> Void) async throws {
    try await TestServer.run({ $0.webOrigins = [WebApp.origin] }) { test in
      var app = WebApp(test)
      try await body(test, &app)
    }
  }

  @Test func `gets a cookie that no script reads, and no tokens`() async throws {
    try await run { test, app in
      _ = try await test.signUp()
      #expect(try await app.call("GET", "/v1/session").json["signed_in"] == false)
      let answer = try await app.signIn()
      #expect(answer.status == 200)
      #expect(!answer.text.contains("hsr1.") && !answer.text.contains("_token\":\"ey"))
      let cookie = try #require(answer.all("set-cookie").first { $0.hasPrefix("__Host-handstamp-session=") })
      for part in ["; Path=/", "; Secure", "; HttpOnly", "; SameSite=Lax"] { #expect(cookie.contains(part)) }
      #expect(!cookie.contains("Domain"))
      let state = try await app.call("GET", "/v1/session").json
      #expect(state["signed_in"] == true)
      #expect(state["csrf_token"] == app.csrf)
      #expect(state["session_id"] as String? == answer.json["session_id"])
      #expect(state[object: "profile"]["name"] == "Ada")
      #expect(try await app.call("GET", "/v1/me").json["email"] == "ada@example.org")
      #expect(try await app.signIn(password: "wrong password").json["code"] == "wrong_credentials")
    }
  }

  @Test func `is one of the account's sessions, and ends from elsewhere`() async throws {
    try await run { test, app in
      let phone = try await test.signUp()
      let id: String = try #require(try await app.signIn().json["session_id"])
      #expect(try await app.browser.get("/account").title == "Profile")
      let listed = try await test.client.get("/v1/sessions", token: phone.access).json[list: "sessions"]
      #expect(listed.contains { $0["id"] == id })
      #expect(try await test.client.send("DELETE", "/v1/sessions/\(id)", token: phone.access).status == 204)
      #expect(try await app.call("GET", "/v1/session").json["signed_in"] == false)
      let refused = try await app.call("GET", "/v1/me")
      #expect(refused.status == 401)
      #expect(refused.json["code"] == "not_signed_in")
    }
  }

  @Test func `signs out with all that depends on it`() async throws {
    try await run { test, app in
      let phone = try await test.signUp()
      _ = try await app.signIn()
      let answer = try await app.call("DELETE", "/v1/session")
      #expect(answer.status == 204)
      #expect(answer.header("clear-site-data")?.contains("\"storage\"") == true)
      #expect(app.browser.cookies["__Host-handstamp-session"] == nil)
      #expect(try await test.client.get("/v1/sessions", token: phone.access).json[list: "sessions"].count == 1)
      #expect(try await app.call("DELETE", "/v1/session").status == 204)
    }
  }

  @Test func `changes nothing without its CSRF token`() async throws {
    try await run { test, app in
      _ = try await test.signUp()
      _ = try await app.signIn()
      let first = app.csrf
      _ = try await app.signIn()
      #expect(app.csrf != first)
      for wrong in [nil, "", "x", first] {
        var other = app
        other.csrf = wrong
        for path in ["/v1/session/token", "/v1/sessions/end-others"] {
          #expect(try await other.call("POST", path).json["code"] == "csrf_token_invalid")
        }
        #expect(try await other.call("DELETE", "/v1/session").json["code"] == "csrf_token_invalid")
      }
      #expect(try await app.call("POST", "/v1/sessions/end-others").status == 200)
    }
  }

  @Test(
    arguments: [
      "https://evil.example.org", "https://app.example.org.evil", "https://id.example.org.evil",
      "https://id.example.org:8443", "http://app.example.org", "null",
    ])
  func `is not a page of another origin`(origin: String) async throws {
    try await run { test, app in
      _ = try await test.signUp()
      _ = try await app.signIn()
      app.origin = origin
      for (method, path) in [("GET", "/v1/session"), ("GET", "/v1/me"), ("POST", "/v1/session/token")] {
        let answer = try await app.call(method, path)
        #expect(answer.status == 403)
        #expect(answer.json["code"] == "origin_not_allowed")
        #expect(answer.header("access-control-allow-origin") == nil)
      }
      #expect(try await app.signIn().json["code"] == "origin_not_allowed")
      app.origin = nil
      for site in ["same-site", "cross-site"] {
        #expect(try await app.call("GET", "/v1/me", headers: ["Sec-Fetch-Site": site]).status == 403)
      }
      #expect(try await app.call("GET", "/v1/me", headers: ["Sec-Fetch-Site": "same-origin"]).status == 200)
    }
  }

  @Test func `reads answers if its origin is allowed`() async throws {
    try await run { test, app in
      for path in ["/v1/session", "/v1/me"] {
        let answer = try await app.call("GET", path)
        #expect(answer.header("access-control-allow-origin") == WebApp.origin)
        #expect(answer.header("access-control-allow-credentials") == "true")
        #expect(answer.all("vary").contains { $0.contains("Origin") })
      }
      let asked = try await app.call(
        "OPTIONS", "/v1/sessions/abc",
        headers: ["Access-Control-Request-Method": "DELETE", "Access-Control-Request-Headers": "x-csrf-token"])
      #expect(asked.status == 204)
      #expect(asked.header("access-control-allow-origin") == WebApp.origin)
      #expect(asked.header("access-control-allow-methods")?.contains("DELETE") == true)
      #expect(asked.header("access-control-allow-headers")?.contains("X-CSRF-Token") == true)
      app.origin = "https://evil.example.org"
      let refused = try await app.call("OPTIONS", "/v1/me", headers: ["Access-Control-Request-Method": "GET"])
      #expect(refused.header("access-control-allow-origin") == nil)
      #expect(try await app.call("GET", "/openapi.json").header("access-control-allow-credentials") == nil)
    }
    try await TestServer.run { test in
      let answer = try await WebApp(test).call("GET", "/v1/session")
      #expect(answer.header("access-control-allow-origin") == nil)
      #expect(try await WebApp(test).call("OPTIONS", "/v1/me").status == 405)
    }
  }

  @Test func `gets access tokens for other services, which end with it`() async throws {
    try await run { test, app in
      _ = try await test.signUp()
      _ = try await app.signIn()
      let token: String = try #require(try await app.call("POST", "/v1/session/token").json["access_token"])
      #expect(try await test.client.get("/v1/me", token: token).status == 200)
      _ = try await app.call("DELETE", "/v1/session")
      #expect(try await test.client.get("/v1/me", token: token).code == "session_ended")
      app.csrf = nil
      #expect(try await app.call("POST", "/v1/session/token").json["code"] == "not_signed_in")
    }
  }

  @Test func `proves the owner again by signing in, and its previous cookie is worthless`() async throws {
    try await run { test, app in
      _ = try await test.signUp()
      let id: String? = try await app.signIn().json["session_id"]
      test.clock.advance(by: .seconds(16 * 60))
      #expect(try await app.call("POST", "/v1/sessions/end-others").json["code"] == "reauthentication_required")
      let previous = app.browser.cookies
      #expect(try await app.signIn().json["session_id"] == id)
      #expect(try await app.call("POST", "/v1/sessions/end-others").status == 200)
      app.browser.cookies = previous
      #expect(try await app.call("GET", "/v1/session").json["signed_in"] == false)
    }
  }

  @Test(arguments: [
    "https://app.example.org/", "app.example.org", "http://app.example.org", "https://App.example.org", "*",
  ])
  func `has an origin as browsers write it`(text: String) async throws {
    await #expect(throws: ServerConfigurationError.webOrigin(text)) {
      try await TestServer.run({ $0.webOrigins = [text] }) { _ in }
    }
  }
}
#endif
