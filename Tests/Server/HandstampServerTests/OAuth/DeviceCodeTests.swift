#if Programs
import Foundation
import HandstampCore
import Testing

@testable import HandstampServer

/// RFC 8628 over HTTP.
@Suite(.timeLimit(.minutes(10))) struct `A device waiting for approval` {
  private struct Device {
    let test: TestServer
    let code: String
    let userCode: String

    init(_ test: TestServer, id: String = "app", scope: String = "profile") async throws {
      self.test = test
      let answer = try await test.oauth("/oauth/device_authorization", [("client_id", id), ("scope", scope)])
      #expect(answer.status == 200)
      #expect(answer.json["verification_uri"] == "https://id.example.org/device")
      #expect(answer.json["interval"] == 5)
      #expect(answer.json["expires_in"] == 600)
      code = try #require(answer.json["device_code"])
      userCode = try #require(answer.json["user_code"])
    }

    /// Polls after the interval that it was given.
    func ask(
      after wait: Duration = .seconds(5), id: String = "app", key: String? = nil
    ) async throws -> WireClient.Answer {
      test.clock.advance(by: wait)
      return try await test.oauth(
        "/oauth/token",
        [
          ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"), ("device_code", code), ("client_id", id),
        ] + (key.map { [("rotation_key", $0)] } ?? []))
    }

    /// A user types the code and presses a button.
    @discardableResult
    func answer(_ action: String, typed: String? = nil) async throws -> Browser.BrowserResponse {
      let browser = Browser(test.client.base)
      let page = try await browser.signIn(at: "/device")
      let found = try await browser.press("look", on: page, at: "/device", [("user_code", typed ?? userCode)])
      guard found.title.hasPrefix("Allow ") else { return found }
      return try await browser.press(action, on: found, at: "/device", [("user_code", userCode)])
    }
  }

  @Test func `signs in once it is allowed, and once only`() async throws {
    try await TestServer.runOAuth { test in
      let device = try await Device(test)
      #expect(try await device.ask().json["error"] == "authorization_pending")
      let page = try await device.answer("allow", typed: " " + device.userCode.lowercased().replacing("-", with: " "))
      #expect(page.title == "Your device is connected")
      let answer = try await device.ask()
      let session = try TestServer.Session(answer)
      #expect(answer.json["scope"] == "profile")
      #expect(try await test.client.get("/v1/me", token: session.access).status == 200)
      let refreshed = try await OAuthApp().refresh(session.refresh, at: test)
      #expect(refreshed.status == 200)
      // A second use, without a key: another party may have the code.
      #expect(try await device.ask().json["error"] == "invalid_grant")
      #expect(try await test.client.get("/v1/me", token: session.access).status == 401)
    }
  }

  @Test func `gets the same session again with the same key, and with another one loses it`() async throws {
    try await TestServer.runOAuth { test in
      let device = try await Device(test)
      let (key, other) = ("AAAAAAAAAAAAAAAAAAAAAA", "BBBBBBBBBBBBBBBBBBBBBA")
      #expect(try await device.ask(key: key).json["error"] == "authorization_pending")
      #expect(try await device.ask(after: .zero, key: key).json["error"] == "slow_down")
      try await device.answer("allow")
      let lost = try TestServer.Session(try await device.ask(key: key))
      // At once: that is no poll.
      let session = try TestServer.Session(try await device.ask(after: .zero, key: key))
      #expect(session.id == lost.id)
      #expect(session.refresh == lost.refresh)
      let refreshed = try await OAuthApp().refresh(session.refresh, at: test)
      #expect(refreshed.status == 200)
      // The same request, late.
      #expect(try await device.ask(key: key).json["error"] == "invalid_grant")
      #expect(try await test.client.get("/v1/me", token: session.access).status == 200)
      #expect(try await device.ask(key: other).json["reason"] == "token_reuse")
      #expect(try await test.client.get("/v1/me", token: session.access).status == 401)
    }
  }

  @Test(arguments: [false, true]) func `can be let in by another user of the same browser`(isShown: Bool) async throws {
    try await TestServer.runOAuth { test in
      let device = try await Device(test)
      let browser = Browser(test.client.base)
      let path = "/device?user_code=" + device.userCode
      var page = try await browser.signIn(at: path)
      if isShown { page = try await browser.press("look", on: page, at: path, [("user_code", device.userCode)]) }
      #expect(page.text.contains(#"value="sign-out""#))
      let left = try await browser.press("sign-out", on: page, at: path)
      #expect(left.status == 303 && left.location == "https://id.example.org" + path)
      #expect(try await browser.get(path).title == "Sign in")
      #expect(try await device.ask().json["error"] == "authorization_pending")
    }
  }

  @Test func `of a borrowed browser is signed out with it, and the page says so before`() async throws {
    try await TestServer.runOAuth { test in
      for isBorrowed in [false, true] {
        let (device, browser) = (try await Device(test), Browser(test.client.base))
        let box = isBorrowed ? Browser.box : []
        let page = try await browser.fill(
          "/device", "sign-in", [("email", "ada@example.org"), ("password", TestServer.password)] + box)
        #expect(page.status == 303)
        let found = try await browser.fill("/device", "look", [("user_code", device.userCode)])
        #expect(found.text.contains("access ends with your session in it") == isBorrowed)
        _ = try await browser.press("allow", on: found, at: "/device", [("user_code", device.userCode)])
        let session = try TestServer.Session(try await device.ask())
        test.clock.advance(by: .seconds(900))
        await Sweeper(server: test.server).sweep()
        let refreshed = try await OAuthApp().refresh(session.refresh, at: test)
        #expect(refreshed.json["reason"] as String? == (isBorrowed ? "expired" : nil))
        #expect(refreshed.status == (isBorrowed ? 400 : 200))
      }
    }
  }

  @Test func `learns of a denial`() async throws {
    try await TestServer.runOAuth { test in
      let device = try await Device(test)
      #expect(try await device.answer("deny").title == "Your device was not connected")
      #expect(try await device.ask().json["error"] == "access_denied")
      // The code is used: nobody can change that answer.
      #expect(try await device.answer("allow").text.contains("invalid or has expired"))
      #expect(try await device.ask().json["error"] == "access_denied")
    }
  }

  @Test func `is told to slow down, a little more each time`() async throws {
    try await TestServer.runOAuth { test in
      let device = try await Device(test)
      #expect(try await device.ask().json["error"] == "authorization_pending")
      #expect(try await device.ask(after: .seconds(4)).json["error"] == "slow_down")
      #expect(try await device.ask(after: .seconds(5)).json["error"] == "slow_down")
      #expect(try await device.ask(after: .seconds(15)).json["error"] == "authorization_pending")
      let other = try await Device(test)
      #expect(try await other.ask(after: .zero).json["error"] == "authorization_pending")
    }
  }

  @Test func `waits ten minutes`() async throws {
    try await TestServer.runOAuth { test in
      let device = try await Device(test)
      #expect(try await device.ask(after: .seconds(599)).json["error"] == "authorization_pending")
      #expect(try await device.answer("look", typed: "BCDF-GHJK").text.contains("invalid or has expired"))
      let late = try await device.ask(after: .seconds(10))
      #expect(late.json["error"] == "expired_token")
      #expect(try await device.answer("allow").text.contains("invalid or has expired"))
    }
  }

  @Test func `cannot be taken over by another client`() async throws {
    try await TestServer.runOAuth { test in
      let device = try await Device(test)
      try await device.answer("allow")
      #expect(try await device.ask(id: "other").json["error"] == "invalid_grant")
      #expect(try await device.ask(id: "own").json["error"] == "unauthorized_client")
      #expect(try await device.ask().status == 200)
    }
  }

  @Test func `gets no more than its client may request`() async throws {
    try await TestServer.runOAuth { test in
      let wishes: [([(String, String)], String)] = [
        ([("client_id", "app"), ("scope", "admin")], "invalid_scope"), ([("client_id", "unknown")], "invalid_client"),
        ([("client_id", "own")], "unauthorized_client"), ([], "unauthorized_client"),
        ([("client_id", "app"), ("resource", "https://evil.example.org")], "invalid_target"),
      ]
      for (fields, error) in wishes {
        let answer = try await test.oauth("/oauth/device_authorization", fields)
        #expect(answer.json["error"] == error)
      }
    }
  }

  @Test func `cannot be found by guessing`() async throws {
    try await TestServer.runOAuth { test in
      let device = try await Device(test)
      let browser = Browser(test.client.base)
      let page = try await browser.signIn(at: "/device")
      for _ in 0..<10 {
        let guess = try await browser.press("look", on: page, at: "/device", [("user_code", "BBBB-BBBB")])
        #expect(guess.status == 200)
      }
      let refused = try await browser.press("look", on: page, at: "/device", [("user_code", device.userCode)])
      #expect(refused.status == 429)
      test.clock.advance(by: .seconds(601))
      let again = try await browser.press("look", on: page, at: "/device", [("user_code", "BBBB-BBBB")])
      #expect(again.status == 200)
    }
  }

  @Test func `is found by its code as people type and paste it, and by nothing else that counts`() async throws {
    try await TestServer.runOAuth { test in
      let device = try await Device(test)
      let browser = Browser(test.client.base)
      let page = try await browser.signIn(at: "/device")
      func look(_ typed: String) async throws -> Browser.BrowserResponse {
        try await browser.press("look", on: page, at: "/device", [("user_code", typed)])
      }
      let link = "https://id.example.org/device?user_code="
      for nothing in ["–", " . ", "AEIOU", "https://evil.example/device?user_code=" + device.userCode] {
        for _ in 0..<3 { #expect(try await look(nothing).status == 200, "\(nothing)") }
      }
      let dashed = device.userCode.lowercased().replacing("-", with: "\u{2013}") + "."
      for typed in [dashed, link + device.userCode, "<\(link)\(device.userCode)>\n"] {
        #expect(try await look(typed).title.hasPrefix("Allow "), "\(typed)")
      }
      #expect(page.text.contains(#"maxlength="1024""#) && page.text.contains("format-detection"))
    }
  }

  @Test func `shows distinct codes that spell no words`() async throws {
    try await TestServer.runOAuth { test in
      var seen: Set<String> = []
      for _ in 0..<50 {
        let code = try await Device(test).userCode
        #expect(code.count == 9)
        #expect(code.allSatisfy { "BCDFGHJKLMNPQRSTVWXZ-".contains($0) })
        seen.insert(code)
      }
      #expect(seen.count == 50)
    }
  }
}
#endif
