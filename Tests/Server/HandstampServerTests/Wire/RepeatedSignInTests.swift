#if Programs
import HandstampCore
import HandstampRegistry
import Testing

@testable import HandstampServer

/// The answers of requests that begin a session, lost and asked for again with the same key.
@Suite(.timeLimit(.minutes(10))) struct `A repeated sign-in` {
  private static let key = "AAAAAAAAAAAAAAAAAAAAAA"
  private static let otherKey = "BBBBBBBBBBBBBBBBBBBBBA"

  private static func keyed(_ body: String, _ key: String = key) -> String {
    body.dropLast() + #","rotation_key":"\#(key)"}"#
  }

  private static func expectSame(_ one: WireClient.Answer, _ other: WireClient.Answer) throws {
    let (first, second) = (try TestServer.Session(one), try TestServer.Session(other))
    #expect(first.id == second.id)
    #expect(first.refresh == second.refresh)
    #expect(first.handle == second.handle)
    #expect(first.account == second.account)
    #expect(one.status == other.status)
  }

  @Test func `with a password gets the same session until it is used, and is told once`() async throws {
    try await TestServer.run { test in
      _ = try await test.signUp()
      let body = Self.keyed(TestServer.signInBody("ada@example.org"))
      let first = try await test.client.post("/v1/sign-in", json: body)
      let events = try await test.events()
      let signIns = test.metrics.signIns
      let again = try await test.client.post("/v1/sign-in", json: body)
      try Self.expectSame(first, again)
      #expect(first.json["access_token"] as String? != again.json["access_token"])
      #expect(try await test.events() == events)
      #expect(test.metrics.signIns == signIns)
      let session = try TestServer.Session(first)
      #expect(try await test.client.get("/v1/me", token: session.access).status == 200)
      let late = try await test.client.post("/v1/sign-in", json: body)
      #expect(late.status == 409)
      #expect(late.code == "rotation_key_used")
      #expect(try await test.client.get("/v1/me", token: session.access).status == 200)
      let bad = Self.keyed(TestServer.signInBody("ada@example.org"), "short")
      #expect(try await test.client.post("/v1/sign-in", json: bad).code == "invalid_request")
      let none = body.replacing("\"\(Self.key)\"", with: "null")
      #expect(try await test.client.post("/v1/sign-in", json: none).code == "invalid_request")
    }
  }

  @Test func `is for the one who knows the password`() async throws {
    try await TestServer.run { test in
      let body = Self.keyed(TestServer.signUpBody("ada@example.org"))
      let first = try await test.client.post("/v1/sign-up", json: body)
      try Self.expectSame(first, try await test.client.post("/v1/sign-up", json: body))
      let other = Self.keyed(TestServer.signUpBody("ada@example.org", password: "another password"))
      #expect(try await test.client.post("/v1/sign-up", json: other).code == "email_taken")
      let withoutKey = try await test.client.post("/v1/sign-up", json: TestServer.signUpBody("ada@example.org"))
      #expect(withoutKey.code == "email_taken")
    }
  }

  @Test func `creates one guest, whose session goes on until its upgrade is used`() async throws {
    try await TestServer.run { test in
      let body = "{\(TestServer.deviceBody("phone")),\"rotation_key\":\"\(Self.key)\"}"
      let guest = try await test.client.post("/v1/sign-in/anonymous", json: body)
      try Self.expectSame(guest, try await test.client.post("/v1/sign-in/anonymous", json: body))
      let session = try TestServer.Session(guest)
      let upgrade = Self.keyed(TestServer.signUpBody("ada@example.org"), Self.otherKey)
      let full = try await test.client.post("/v1/upgrade", token: session.access, json: upgrade)
      #expect(full.status == 200)
      // Its answer is lost. The guest is still signed in, and asks again.
      let refreshed = try await test.refresh(session.refresh, key: .fresh)
      #expect(refreshed.status == 200)
      let access: String = try #require(refreshed.json["access_token"])
      let again = try await test.client.post("/v1/upgrade", token: access, json: upgrade)
      try Self.expectSame(full, again)
      let wrong = Self.keyed(TestServer.signUpBody("ada@example.org", password: "another password"), Self.otherKey)
      #expect(try await test.client.post("/v1/upgrade", token: access, json: wrong).status == 409)
      let second = try TestServer.Session(again)
      #expect(second.account == session.account)
      #expect(try await test.client.get("/v1/me", token: second.access).json["is_anonymous"] == false)
      #expect(try await test.client.get("/v1/me", token: access).json["reason"] == "replaced")
    }
  }

  @Test func `that is never used is no longer shown after 10 min, but lives on with its refresh token`() async throws {
    try await TestServer.run({ $0.accessTokenLife = .seconds(3600) }) { test in
      let phone = try await test.signUp(device: "phone")
      func shown() async throws -> Int {
        try await test.client.get("/v1/sessions", token: phone.access).json[list: "sessions"].count
      }
      let body = Self.keyed(TestServer.signInBody("ada@example.org"))
      let stored = try TestServer.Session(try await test.client.post("/v1/sign-in", json: body))
      #expect(try await shown() == 2)
      test.clock.advance(by: .milliseconds(599_999))
      #expect(try await shown() == 2)
      test.clock.advance(by: .milliseconds(1))
      #expect(try await shown() == 1)
      // Not `session_ended`, which would end it at its client.
      let refused = try await test.client.get("/v1/me", token: stored.access)
      #expect(refused.code == "token_expired")
      #expect(try await test.refresh(stored.refresh, key: .fresh).status == 200)
      #expect(try await shown() == 2)
      #expect(try await test.client.get("/v1/me", token: stored.access).status == 200)
    }
  }

  @Test func `with a code is the same use with the same key, and with any other a second one`() async throws {
    try await TestServer.runOAuth { test in
      let app = OAuthApp()
      let code = try await app.code(Browser(test.client.base))
      func redeem(_ key: String?, _ changing: [String: String] = [:]) async throws -> WireClient.Answer {
        let fields = [
          ("grant_type", "authorization_code"), ("client_id", app.id), ("code", code), ("redirect_uri", app.redirect),
          ("code_verifier", app.verifier), ("rotation_key", key ?? ""),
        ]
        return try await test.oauth(
          "/oauth/token", fields.map { ($0.0, changing[$0.0] ?? $0.1) }.filter { !$0.1.isEmpty })
      }
      let first = try await redeem(Self.key)
      try Self.expectSame(first, try await redeem(Self.key))
      // What could not have redeemed the code ends nothing.
      #expect(try await redeem(Self.key, ["code_verifier": String(repeating: "x", count: 43)]).status == 400)
      let session = try TestServer.Session(first)
      #expect(try await test.client.get("/v1/me", token: session.access).status == 200)
      // Used: the same request, once more and late, gets nothing, and ends nothing.
      #expect(try await redeem(Self.key).json["error"] == "invalid_grant")
      #expect(try await test.client.get("/v1/me", token: session.access).status == 200)
      #expect(try await app.refresh(session.refresh, at: test, [("rotation_key", Self.otherKey)]).status == 200)
      #expect(try await redeem(Self.otherKey).json["reason"] == "token_reuse")
      #expect(try await test.client.get("/v1/me", token: session.access).status == 401)
    }
  }

  @Test func `with a code that has expired gets nothing`() async throws {
    try await TestServer.runOAuth { test in
      let app = OAuthApp()
      let fields = [
        ("grant_type", "authorization_code"), ("client_id", app.id),
        ("code", try await app.code(Browser(test.client.base))),
        ("redirect_uri", app.redirect), ("code_verifier", app.verifier), ("rotation_key", Self.key),
      ]
      let session = try TestServer.Session(try await test.oauth("/oauth/token", fields))
      test.clock.advance(by: .seconds(60))
      #expect(try await test.oauth("/oauth/token", fields).json["error"] == "invalid_grant")
      #expect(try await app.refresh(session.refresh, at: test).status == 200)
    }
  }

  @Test func `in a browser whose answer is lost leaves it signed in, and pages in any order as well`() async throws {
    try await TestServer.run({ $0.webOrigins = ["https://app.example.org"] }) { test in
      _ = try await test.signUp()
      let browser = Browser(test.client.base)
      let body = #"{"email":"ada@example.org","password":"\#(TestServer.password)"}"#
      func signIn() async throws -> [String: String] {
        let previous = browser.cookies
        let answer = try await browser.send(
          "POST", "/v1/session",
          headers: ["Origin": "https://app.example.org", "Content-Type": "application/json"], body: body)
        #expect(answer.status == 200)
        defer { browser.cookies = previous }
        return browser.cookies
      }
      func isSignedIn() async throws -> Bool {
        try await browser.get("/v1/session", headers: ["Origin": "https://app.example.org"])
          .text.contains(#""signed_in":true"#)
      }
      browser.cookies = try await signIn()
      #expect(try await isSignedIn())
      // Lost.
      _ = try await signIn()
      #expect(try await isSignedIn())
      // Two pages: whichever answer arrives last, and whatever is sent in between.
      let (one, two) = (try await signIn(), try await signIn())
      for cookies in [two, one, two, one] {
        browser.cookies = cookies
        #expect(try await isSignedIn())
      }
    }
  }
}
#endif
