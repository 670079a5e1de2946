#if Programs
import Foundation
import HandstampCore
import HandstampRegistry
import Testing

@testable import HandstampServer

/// Attacks by a malicious client, beyond those in the other suites.
@Suite(.timeLimit(.minutes(10))) struct `A hostile client` {
  @Test func `gets no redirect to a look-alike of a registered address`() async throws {
    let client = try ConfiguredClient(
      id: "Klient", redirectURIs: ["https://app.example.org/K;a", "http://127.0.0.1/K"], scopes: [])
    try await TestServer.run({ $0.clients = [client] }) { test in
      _ = try await test.signUp()
      var app = OAuthApp()
      (app.id, app.scope) = ("Klient", nil)
      // A Kelvin sign and a Greek question mark: equal to K and ; as text, but with other bytes.
      for redirect in [
        "https://app.example.org/\u{212A};a", "https://app.example.org/K\u{37E}a", "http://127.0.0.1:80/\u{212A}",
        "https://app.example.org/K;a#", "https://app.example.org/K;a#f", "https://x@app.example.org/K;a",
        "https://app.example.org:443/K;a", "https://app.example.org/%4B;a", "https://APP.example.org/K;a",
        "https://app.example.org/./K;a", "https://app.example.org/K;a\r\nX: y", "https://app.example.org/K;a\0",
        " https://app.example.org/K;a", "//app.example.org/K;a", "http://127.0.0.1:1@evil.example.org:2/K",
        "http://127.0.0.1:\u{661}/K", "http://[::1]:80/K", "http://127.0.0.1:+80/K", "http://127.0.0.1:/K",
        "javascript:alert(1)", "https://app.example.org\\@evil.example.org/K;a",
      ] {
        app.redirect = redirect
        let page = try await Browser(test.client.base).get(app.page())
        #expect(page.status == 400, "\(redirect.debugDescription)")
        #expect(page.location == nil, "\(redirect.debugDescription)")
      }
    }
  }

  @Test func `is accepted with an empty secret only if it needs none`() async throws {
    let secret = Array(repeating: UInt8(7), count: 32)
    let clients = [
      try ConfiguredClient(id: "open", flows: [.device]),
      try ConfiguredClient(id: "shut", secretHash: secret, flows: [.device]),
    ]
    try await TestServer.run({ $0.clients = clients }) { test in
      func ask(_ credentials: String, _ form: String = "") async throws -> WireClient.Answer {
        let basic = "Basic " + Data(credentials.utf8).base64EncodedString()
        return try await test.client.send(
          "POST", "/oauth/device_authorization",
          headers: ["Authorization": basic, "Content-Type": "application/x-www-form-urlencoded"],
          body: Array(form.utf8))
      }
      // As sent by oidc-agent and git-credential-oauth.
      #expect(try await ask("open:").status == 200)
      #expect(try await ask("open:", "client_id=open").status == 200)
      for credentials in ["shut:", "open:x", "open", ":", "unknown:", "shut:wrong"] {
        let answer = try await ask(credentials)
        #expect(answer.status == 401, "\(credentials)")
        #expect(answer.json["error"] == "invalid_client")
      }
      #expect(try await ask("open:", "client_id=shut").status == 401)
    }
  }

  @Test func `cannot be told of ended sessions without the openid scope, or at an unsafe address`() throws {
    #expect(throws: ServerConfigurationError.client(.noOpenID("app"))) {
      try ConfiguredClient(
        id: "app", flows: [.device], scopes: ["profile"], backChannelLogoutURI: "https://app.example.org/logout")
    }
    for uri in ["http://app.example.org/logout", "org.example.app:/logout", "https://app.example.org/#a", "logout"] {
      #expect(throws: ServerConfigurationError.client(.badRedirect("app", uri))) {
        try ConfiguredClient(id: "app", flows: [.device], scopes: ["openid"], backChannelLogoutURI: uri)
      }
    }
  }

  @Test func `finds no device by guessing, even with a code of its own in between`() async throws {
    try await TestServer.runOAuth { test in
      func device() async throws -> String {
        let answer = try await test.oauth("/oauth/device_authorization", [("client_id", "app"), ("scope", "profile")])
        return try #require(answer.json["user_code"])
      }
      let victim = try await device()
      let own = try await device()
      let browser = Browser(test.client.base)
      let page = try await browser.signIn(at: "/device")
      func look(_ code: String) async throws -> Int {
        try await browser.press("look", on: page, at: "/device", [("user_code", code)]).status
      }
      for _ in 0..<9 { #expect(try await look("BBBB-BBBB") == 200) }
      // A correct code does not count as a guess, and does not reset the count.
      for _ in 0..<3 { #expect(try await look(own) == 200) }
      #expect(try await look("BBBB-BBBC") == 200)
      #expect(try await look("BBBB-BBBD") == 429)
      #expect(try await look(victim) == 429)
    }
  }

  @Test func `cannot fill the memory with malformed codes`() async throws {
    try await TestServer.runOAuth { test in
      let long = String(repeating: "A", count: 60_000)
      for code in [long, "hsl1." + long, "A"] {
        for _ in 0..<3 {
          let answer = try await test.oauth(
            "/oauth/token",
            [
              ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"), ("device_code", code),
              ("client_id", "app"),
            ])
          // Not `slow_down`: the code was not recorded.
          #expect(answer.json["error"] == "invalid_grant")
        }
      }
    }
  }

  @Test func `gets a standard error, whatever bytes it sends`() async throws {
    try await TestServer.runOAuth { test in
      let session = try await OAuthApp().session(test)
      let endpoints = ["/oauth/token", "/oauth/revoke", "/oauth/introspect", "/oauth/device_authorization"]
      let form = "application/x-www-form-urlencoded"
      let bodies: [(String, [UInt8], String)] = [
        ("a NUL", Array("grant_type=refresh_token&refresh_token=%00&client_id=%00&token=%00".utf8), form),
        ("bare NULs", [0, 61, 0, 38, 0], form),
        ("no UTF-8", Array("token=".utf8) + [0xFF, 0xC0, 0x80], form),
        ("no UTF-8, escaped", Array("client_id=app&token=%FF%C0%80&grant_type=%FF".utf8), form),
        ("a broken escape", Array("client_id=app&token=%&grant_type=%4".utf8), form),
        ("twice", Array("client_id=app&client_id=app&token=a&grant_type=x".utf8), form),
        ("twice, escaped", Array("client_id=app&client%5Fid=other&token=a".utf8), form),
        ("many", Array((0..<500).map { "a\($0)=b" }.joined(separator: "&").utf8), form),
        ("large", Array("token=".utf8) + [UInt8](repeating: 65, count: 100_000), form),
        ("JSON", Array(#"{"client_id":"app"}"#.utf8), "application/json"),
        ("parts", Array("--x\r\n\r\n--x--".utf8), "multipart/form-data; boundary=x"), ("no kind", [], ""),
      ]
      for endpoint in endpoints {
        for (name, body, kind) in bodies {
          let answer = try await test.client.send(
            "POST", endpoint, headers: kind.isEmpty ? [:] : ["Content-Type": kind], body: body)
          #expect([400, 401, 413, 415].contains(answer.status), "\(endpoint): \(name), \(answer.status)")
          #expect(answer.json["error"] as String? != nil, "\(endpoint): \(name)")
          #expect(answer.headers["cache-control"] == "no-store", "\(endpoint): \(name)")
        }
      }
      // Input to the pages.
      for query in [
        "client_id=%00", "client_id=%FF", "client_id=app&client_id=app", "%", "client_id=app&redirect_uri=%00",
      ] {
        let page = try await Browser(test.client.base).get("/oauth/authorize?" + query)
        #expect(page.status == 400, "\(query)")
        #expect(page.location == nil, "\(query)")
      }
      #expect(try await test.client.get("/v1/me", token: session.access).status == 200)
    }
  }

  @Test func `gets its state back unchanged, and cannot inject a header`() async throws {
    try await TestServer.runOAuth { test in
      let app = OAuthApp()
      let browser = Browser(test.client.base)
      let state = "a\r\nSet-Cookie: x=y\0\u{212A}&code=stolen&iss=https://evil.example.org#f"
      let path = app.page(changing: ["state": state])
      let page = try await browser.signIn(at: path)
      let back = try await browser.press("allow", on: page, at: path)
      #expect(back.fields["state"] == state)
      #expect(back.fields["iss"] == "https://id.example.org")
      #expect(back.all("set-cookie").isEmpty)
      let items = URLComponents(string: back.location ?? "")?.queryItems ?? []
      #expect(items.map(\.name) == ["code", "state", "iss"])
    }
  }

  @Test func `cannot widen its request through the form`() async throws {
    try await TestServer.runOAuth { test in
      let app = OAuthApp()
      let browser = Browser(test.client.base)
      let path = app.page(changing: ["scope": "profile"])
      let page = try await browser.signIn(at: path)
      // The form's own fields are not the request, which is only in the page's URL.
      let back = try await browser.press(
        "allow", on: page, at: path,
        [("scope", "profile read write"), ("redirect_uri", "https://evil.example.org"), ("client_id", "own")])
      #expect(back.location?.hasPrefix("org.example.app:/back?code=") == true)
      let answer = try await app.redeem(
        back.fields["code"] ?? "", at: test, changing: [:])
      #expect(answer.json["scope"] == "profile")
    }
  }

  @Test func `gains nothing from a form copied from another browser`() async throws {
    try await TestServer.runOAuth { test in
      _ = try await test.signUp("eve@example.org")
      let path = OAuthApp().page()
      let (ada, eve) = (Browser(test.client.base), Browser(test.client.base))
      let page = try await ada.signIn(at: path)
      let other = try await eve.signIn(at: path, as: "eve@example.org")
      for action in ["allow", "sign-out", "sign-in", "deny"] {
        let crossed = try await ada.post(path, [("csrf", other.csrf ?? ""), ("action", action)])
        #expect(crossed.status == 403, "\(action)")
        #expect(crossed.location == nil, "\(action)")
      }
      // Two cookies of that name, as a sibling host might cause, are both ignored.
      ada.cookies[ResponseCookie.session + "=x; " + ResponseCookie.session] = eve.cookies[ResponseCookie.session]
      #expect(try await ada.get(path).title == "Sign in")
      ada.cookies[ResponseCookie.session + "=x; " + ResponseCookie.session] = nil
      #expect(try await ada.post(path, [("csrf", page.csrf ?? ""), ("action", "deny")]).status == 303)
    }
  }
}
#endif
