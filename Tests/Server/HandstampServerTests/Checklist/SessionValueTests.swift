#if Programs
import Foundation
import HandstampCore
import HandstampRegistry
import Testing

@testable import HandstampServer

/// Section V7 of docs/asvs.md, and its row on the live feed, over HTTP.
@Suite(.timeLimit(.minutes(10))) struct `The values of sessions` {
  @Test func `are all different, and share only their format`() async throws {
    try await TestServer.runOAuth { test in
      // 2,000 refresh tokens of 200 sessions, and their handles.
      let values = try await withThrowingTaskGroup(of: [String].self) { group in
        for lane in 0..<8 {
          group.addTask {
            var values: [String] = []
            for number in 0..<25 {
              let guest = try await test.client.post(
                "/v1/sign-in/anonymous", json: #"{"device":{"id":"d-\#(lane)-\#(number)","name":"x","platform":"y"}}"#)
              let session = try TestServer.Session(guest)
              values += [session.refresh, session.handle]
              var token = session.refresh
              for _ in 0..<9 {
                token = try #require(try await test.refresh(token, key: .fresh).json["refresh_token"])
                values.append(token)
              }
            }
            return values
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      #expect(values.count == 2200)
      #expect(Set(values).count == values.count)
      let tokens = values.filter { $0.hasPrefix("hst1.k1.") }
      #expect(tokens.count >= 2000)
      // The session's 16 bytes come first, and a MAC of 16 last: every digit of both takes many values except the very last,
      // which has spare bits.
      let bodies = tokens.map { Array($0.dropFirst("hst1.k1.".count).utf8) }
      for place in Array(0..<21) + (2...20).map({ -$0 }) {
        let digits = Set(bodies.map { $0[place < 0 ? $0.count + place : place] })
        #expect(digits.count > 40, "digit \(place)")
      }
      var cookies: Set<String> = []
      for _ in 0..<25 {
        let browser = Browser(test.client.base)
        _ = try await browser.signIn(at: "/device")
        let value = try #require(browser.cookies[ResponseCookie.session])
        // The session's 16 bytes, the counter, and a MAC of 16.
        #expect(value.count == "hsb1.k1.".count + 44)
        cookies.insert(value)
      }
      #expect(cookies.count == 25)
    }
  }

  @Test func `from a browser are useless after it signs out`() async throws {
    try await TestServer.runOAuth { test in
      let browser = Browser(test.client.base)
      let page = try await browser.signIn(at: "/device")
      let value = try #require(browser.cookies[ResponseCookie.session])
      _ = try await browser.press("sign-out", on: page, at: "/device")
      #expect(browser.cookies[ResponseCookie.session] == nil)
      browser.cookies[ResponseCookie.session] = value
      #expect(try await browser.get("/device").title == "Sign in")
    }
  }

  @Test func `end together when the account is deleted, and its existence is not revealed`() async throws {
    try await TestServer.runOAuth { test in
      let phone = try await test.signIn(device: "phone")
      let laptop = try await test.signIn(device: "laptop")
      let app = try await OAuthApp().session(test)
      let browser = Browser(test.client.base)
      #expect(try await browser.signIn(at: "/device").title != "Sign in")
      let deleted = try await test.client.send(
        "DELETE", "/v1/me", token: phone.access, headers: ["Content-Type": "application/json"],
        body: Array(#"{"password":"\#(TestServer.password)"}"#.utf8))
      #expect((200..<300).contains(deleted.status))
      for token in [phone.access, laptop.access, app.access] {
        #expect(try await test.client.get("/v1/me", token: token).status == 401)
      }
      for token in [phone.refresh, laptop.refresh] {
        #expect(try await test.refresh(token, key: .fresh).json["error"] == "invalid_grant")
      }
      #expect(try await OAuthApp().refresh(app.refresh, at: test).json["error"] == "invalid_grant")
      #expect(try await browser.get("/device").title == "Sign in")
      let previous = try await test.client.post("/v1/sign-in", json: TestServer.signInBody("ada@example.org"))
      let unknown = try await test.client.post("/v1/sign-in", json: TestServer.signInBody("eve@example.org"))
      #expect(previous.status == 401)
      #expect(previous.body == unknown.body)
    }
  }

  @Test func `cannot be kept beyond the absolute limit by refreshing`() async throws {
    try await TestServer.run(limits: RegistryLimits(absoluteLimit: .seconds(3600), idleLimit: .seconds(600))) { test in
      let session = try await test.signUp()
      var (token, access) = (session.refresh, session.access)
      for _ in 0..<6 {
        test.clock.advance(by: .seconds(599))
        let answer = try await test.refresh(token, key: .fresh)
        token = try #require(answer.json["refresh_token"])
        access = try #require(answer.json["access_token"])
      }
      test.clock.advance(by: .seconds(6))
      #expect(try await test.client.get("/v1/me", token: access).status == 401)
      let over = try await test.refresh(token, key: .fresh)
      #expect(over.status == 400)
      #expect(over.json["reason"] == "expired")
    }
  }

  @Test func `are limited by the operator: one more ends and notifies the least recently seen session`()
    async throws
  {
    try await TestServer.run(limits: RegistryLimits(maxSessions: 3)) { test in
      let phone = try await test.signUp(device: "phone")
      test.clock.advance(by: .seconds(61))
      #expect(try await test.client.get("/v1/me", token: phone.access).status == 200)
      let laptop = try await test.signIn(device: "laptop")
      let feed = try await WireStream(test.client, token: laptop.access)
      _ = try await feed.next()
      test.clock.advance(by: .seconds(61))
      let tablet = try await test.signIn(device: "tablet")
      #expect(try await test.client.get("/v1/me", token: tablet.access).status == 200)
      test.clock.advance(by: .seconds(61))
      // The oldest is in use again, so the laptop's session is now the least recently seen.
      #expect(try await test.client.get("/v1/me", token: phone.access).status == 200)
      #expect(try await feed.next()?.json["sid"] == tablet.id)
      let fourth = try await test.signIn(device: "watch")
      #expect(try await feed.next()?.json["sid"] == fourth.id)
      // Its first use needs the room.
      #expect(try await test.client.get("/v1/me", token: fourth.access).status == 200)
      let event = try #require(try await feed.next())
      #expect(event.name == "session-revoked")
      #expect(event.json["sid"] == laptop.id)
      #expect(event.json["reason"] == "replaced")
      let refused = try await test.client.get("/v1/me", token: laptop.access)
      #expect(refused.status == 401)
      #expect(refused.json["reason"] == "replaced")
      #expect(try await test.refresh(laptop.refresh, key: .fresh).json["error"] == "invalid_grant")
      // A device that signs in again replaces only its own session.
      let again = try await test.signIn(device: "tablet")
      #expect(try await test.client.get("/v1/me", token: again.access).status == 200)
      #expect(try await test.client.get("/v1/me", token: tablet.access).status == 401)
      for session in [phone, fourth, again] {
        #expect(try await test.client.get("/v1/me", token: session.access).status == 200)
      }
    }
  }

  @Test func `are accepted only in a header, and shown to no other site`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      for path in ["/v1/events", "/v1/me", "/v1/sessions"] {
        for query in ["access_token", "token", "bearer_token"] {
          let answer = try await test.client.get("\(path)?\(query)=\(session.access)")
          #expect(answer.status == 401, "\(path)")
        }
        let form = try await test.client.send(
          "GET", path, headers: ["Cookie": "access_token=\(session.access); Authorization=Bearer \(session.access)"])
        #expect(form.status == 401, "\(path)")
      }
      // A browser gets no response header that would let another site's script read a response.
      for (method, path) in [
        ("OPTIONS", "/v1/events"), ("OPTIONS", "/oauth/token"), ("OPTIONS", "/v1/me"), ("GET", "/v1/me"),
        ("GET", "/v1/app-config"), ("TRACE", "/v1/me"),
      ] {
        let answer = try await test.client.send(
          method, path, token: session.access,
          headers: [
            "Origin": "https://evil.example.org", "Access-Control-Request-Method": "GET",
            "Access-Control-Request-Headers": "authorization",
          ])
        #expect(!answer.headers.keys.contains { $0.hasPrefix("access-control-") }, "\(method) \(path)")
        #expect(method == "GET" ? answer.status == 200 : answer.status == 405, "\(method) \(path)")
      }
    }
  }
}
#endif
