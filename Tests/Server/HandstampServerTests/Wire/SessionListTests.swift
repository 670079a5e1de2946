#if Programs
import HandstampCore
import HandstampRegistry
import HandstampTesting
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `The list of sessions` {
  @Test func `shows every device, and marks the requesting one`() async throws {
    try await TestServer.run { test in
      let phone = try await test.signUp(device: "phone")
      test.clock.advance(by: .seconds(5))
      let laptop = try await test.signIn(device: "laptop")
      _ = try await test.signUp("eve@example.org")
      let answer = try await test.client.get("/v1/sessions", token: phone.access)
      let sessions = answer.json[list: "sessions"]
      #expect(sessions.map { $0["id"] } == [laptop.id, phone.id])
      #expect(sessions.map { $0["current"] } == [false, true])
      #expect(sessions.map { $0[object: "device"]["name"] } == ["laptop", "phone"])
      #expect(sessions.map { $0[object: "device"]["platform"] } == ["Linux", "iOS"])
      // The ID of another device is its secret.
      #expect(sessions.map { $0[object: "device"]["id"] as String? } == [nil, "d-phone"])
      let seen = test.clock.now
      #expect(sessions[0]["created_at"] == seen.description)
      #expect(sessions[0]["last_seen_at_ms"] == Int(seen.milliseconds))
      #expect(answer.headers["cache-control"] == "no-store")
    }
  }

  @Test func `names what is shown as one, in the reader's language, and ends it at once`() async throws {
    try await TestServer.run { test in
      let phone = try await test.signUp(device: "phone")
      for _ in 0..<2 { _ = try await Browser.signedIn(test) }
      func list() async throws -> [WireClient.JSON] {
        try await test.client.get("/v1/sessions", token: phone.access, headers: ["Accept-Language": "de-CH"])
          .json[list: "sessions"]
      }
      let sessions = try await list()
      let browsers = sessions.filter { $0["current"] == false }
      #expect(browsers.compactMap { $0["group"] } == Array(repeating: browsers[0]["id"] ?? "", count: 2))
      #expect(browsers.map { $0[object: "device"]["name"] } == ["Ein Browser", "Ein Browser"])
      #expect(sessions.filter { $0["current"] == true }.map { $0["group"] } == [phone.id])
      let path = "/v1/sessions/\(browsers[1]["id"] ?? "")"
      let ended = try await test.client.send(
        "DELETE", path, token: phone.access, headers: ["Content-Type": "application/json"],
        body: Array(#"{"group":true}"#.utf8))
      #expect(ended.status == 204)
      #expect(try await list().map { $0["id"] } == [phone.id])
    }
  }

  @Test func `shows when a device was last seen, to the minute`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      let start = test.clock.now
      func lastSeen() async throws -> Int? {
        let list = try await test.client.get("/v1/sessions", token: session.access)
        return list.json[list: "sessions"].first?["last_seen_at_ms"]
      }
      test.clock.advance(by: .milliseconds(59_999))
      #expect(try await lastSeen() == Int(start.milliseconds))
      test.clock.advance(by: .milliseconds(1))
      #expect(try await lastSeen() == Int(test.clock.now.milliseconds))
    }
  }

  @Test func `ends a device's session, which is refused from then on`() async throws {
    try await TestServer.run { test in
      let phone = try await test.signUp(device: "phone")
      let laptop = try await test.signIn(device: "laptop")
      #expect(try await test.client.send("DELETE", "/v1/sessions/\(laptop.id)", token: phone.access).status == 204)
      let refused = try await test.client.get("/v1/me", token: laptop.access)
      #expect(refused.status == 401)
      #expect(refused.isProblem)
      #expect(refused.code == "session_ended")
      #expect(refused.json["reason"] == "revoked")
      #expect(refused.headers["www-authenticate"]?.hasPrefix(#"Bearer error="invalid_token", "#) == true)
      let refresh = try await test.refresh(laptop.refresh, key: .fresh)
      #expect(refresh.status == 400)
      #expect(refresh.json["error"] == "invalid_grant")
      #expect(refresh.json["reason"] == "revoked")
      // Repeating it is not an error; the requesting session continues.
      #expect(try await test.client.send("DELETE", "/v1/sessions/\(laptop.id)", token: phone.access).status == 204)
      #expect(try await test.client.get("/v1/me", token: phone.access).status == 200)
    }
  }

  @Test func `never shows or ends another account's session`() async throws {
    try await TestServer.run { test in
      let ada = try await test.signUp()
      let eve = try await test.signUp("eve@example.org")
      let foreign = try await test.client.send("DELETE", "/v1/sessions/\(ada.id)", token: eve.access)
      let unknown = try await test.client.send("DELETE", "/v1/sessions/AAAAAAAAAAAAAAAAAAAAAA", token: eve.access)
      #expect(foreign.status == 404)
      #expect(foreign.body == unknown.body)
      #expect(try await test.client.get("/v1/me", token: ada.access).status == 200)
    }
  }

  @Test func `can be ended completely, or except for one`() async throws {
    try await TestServer.run { test in
      let first = try await test.signUp(device: "one")
      let second = try await test.signIn(device: "two")
      let third = try await test.signIn(device: "three")
      let eve = try await test.signUp("eve@example.org")
      let others = try await test.client.send("POST", "/v1/sessions/end-others", token: second.access)
      #expect(others.json["ended"] == 2)
      #expect(try await test.client.get("/v1/me", token: first.access).status == 401)
      #expect(try await test.client.get("/v1/me", token: third.access).status == 401)
      #expect(try await test.client.get("/v1/me", token: second.access).status == 200)
      // A misspelled "all but ..." parameter must not end all sessions.
      let query = try await test.client.send("DELETE", "/v1/sessions?others=true", token: second.access)
      #expect(query.status == 400)
      #expect(try await test.client.get("/v1/me", token: second.access).status == 200)
      #expect(try await test.client.send("DELETE", "/v1/sessions", token: second.access).json["ended"] == 1)
      #expect(try await test.client.get("/v1/me", token: second.access).status == 401)
      #expect(try await test.client.get("/v1/me", token: eve.access).status == 200)
    }
  }

  @Test func `loses a session that signs out`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      #expect(try await test.client.send("POST", "/v1/sign-out", token: session.access).status == 204)
      let refused = try await test.client.get("/v1/me", token: session.access)
      #expect(refused.json["reason"] == "signed_out")
      let refresh = try await test.refresh(session.refresh, key: .fresh)
      #expect(refresh.json["reason"] == "signed_out")
    }
  }

  @Test func `does not confirm an end that could not be written`() async throws {
    try await TestServer.run { test in
      let phone = try await test.signUp(device: "phone")
      let laptop = try await test.signIn(device: "laptop")
      test.store.fail(.writes)
      for (method, path) in [
        ("DELETE", "/v1/sessions/\(laptop.id)"), ("DELETE", "/v1/sessions"), ("POST", "/v1/sessions/end-others"),
        ("POST", "/v1/sign-out"),
      ] {
        #expect(try await test.client.send(method, path, token: phone.access).status == 503)
      }
      #expect(try await test.client.post("/oauth/revoke", form: "token=\(laptop.handle)").status == 503)
      test.store.fail(.none)
      #expect(try await test.client.get("/v1/me", token: laptop.access).status == 200)
    }
  }

  @Test(arguments: [(true, EndReason.idle), (false, .expired)])
  func `lets a session end at its limit, and not a moment before`(_ idle: Bool, _ reason: EndReason) async throws {
    let limits = RegistryLimits(absoluteLimit: idle ? nil : .seconds(100), idleLimit: idle ? .seconds(100) : nil)
    try await TestServer.run(limits: limits) { test in
      let session = try await test.signUp()
      test.clock.advance(by: .milliseconds(99_999))
      if !idle { #expect(try await test.client.get("/v1/me", token: session.access).status == 200) }
      test.clock.advance(by: .milliseconds(1))
      let refused = try await test.client.get("/v1/me", token: session.access)
      #expect(refused.status == 401)
      let refresh = try await test.refresh(session.refresh, key: .fresh)
      #expect(refresh.status == 400)
      #expect(refresh.json["reason"] == reason.rawValue)
    }
  }

  @Test func `issues no access token that outlasts its session`() async throws {
    try await TestServer.run(limits: RegistryLimits(absoluteLimit: .seconds(900), idleLimit: nil)) { test in
      let session = try await test.signUp()
      test.clock.advance(by: .seconds(800))
      let answer = try await test.refresh(session.refresh, key: .fresh)
      #expect(answer.json["expires_in"] == 100)
    }
  }
}
#endif
