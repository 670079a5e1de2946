#if Programs
import Crypto
import Foundation
import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `An OpenID provider` {
  @Test func `describes itself where clients look for it`() async throws {
    try await TestServer.runOpenID { test in
      let found = try await test.client.get("/.well-known/openid-configuration")
      let other = try await test.client.get("/.well-known/oauth-authorization-server")
      #expect(found.body == other.body)
      let json = found.json
      #expect(json["issuer"] == "https://id.example.org")
      for (name, path) in [
        ("userinfo_endpoint", "/oauth/userinfo"), ("end_session_endpoint", "/oauth/logout"),
        ("pushed_authorization_request_endpoint", "/oauth/par"), ("jwks_uri", "/.well-known/jwks.json"),
      ] {
        #expect(json[name] == "https://id.example.org" + path)
      }
      #expect(json["id_token_signing_alg_values_supported"] == ["ES256", "RS256"])
      #expect(json["subject_types_supported"] == ["public"])
      #expect(json["scopes_supported"] == ["email", "offline_access", "openid", "profile"])
    }
  }

  @Test(arguments: [("party", "ES256"), ("old", "RS256")])
  func `issues an ID token that another implementation verifies`(id: String, algorithm: String) async throws {
    try await TestServer.runOpenID { test in
      let signedIn = test.clock.now
      let browser = Browser(test.client.base)
      _ = try await browser.signIn(at: OAuthApp.party(id).page())
      test.clock.advance(by: .seconds(90))
      let answer = try await OAuthApp.party(id).tokens(browser, at: test)
      let token: String = try #require(answer.json["id_token"])
      let keys = try await test.client.get("/.well-known/jwks.json").text
      let verified = try await Authlib.verify(token, keys: keys)
      let (header, claims) = (verified[object: "header"], verified[object: "payload"])
      #expect(header["alg"] == algorithm)
      #expect(header["typ"] == "JWT")
      #expect(claims["iss"] == "https://id.example.org")
      #expect(claims["aud"] == id)
      #expect(claims["nonce"] == "n-0S6_WzA2Mj")
      #expect(claims["sid"] == (answer.json["session_id"] as String?))
      #expect(claims["sub"] == (answer.claims("access_token")["sub"] as String?))
      #expect(answer.json.fields["profile"] == nil, "a member of Handstamp's own clients")
      #expect(claims["auth_time"] == Int(signedIn.seconds))
      #expect(claims["iat"] == Int(test.clock.now.seconds))
      let access: String = try #require(answer.json["access_token"])
      #expect(claims["at_hash"] == Base64URL.encode(SHA256.hash(data: Array(access.utf8)).prefix(16)))
    }
  }

  @Test func `issues a new ID token with a refresh, without the nonce`() async throws {
    try await TestServer.runOpenID { test in
      let app = OAuthApp.party()
      let first = try await app.tokens(Browser(test.client.base), at: test)
      test.clock.advance(by: .seconds(90))
      let answer = try await test.oauth(
        "/oauth/token", [("grant_type", "refresh_token"), ("refresh_token", first.json["refresh_token"] ?? "")],
        headers: TestServer.basic("party", TestServer.secret))
      let hint = try #require(test.server.responses.idTokens.hint(answer.json["id_token"] ?? ""))
      #expect(hint == test.server.responses.idTokens.hint(first.json["id_token"] ?? ""))
      #expect(answer.claims("id_token")["nonce"] as String? == nil)
      #expect(answer.claims("id_token")["auth_time"] as Int? == first.claims("id_token")["auth_time"])
      #expect(answer.claims("id_token")["iat"] as Int? == Int(test.clock.now.seconds))
    }
  }

  @Test func `issues none to a client that did not ask for it`() async throws {
    try await TestServer.runOpenID { test in
      let answer = try await OAuthApp.party(scope: "profile").tokens(Browser(test.client.base), at: test)
      #expect(answer.status == 200)
      #expect(answer.json["id_token"] as String? == nil)
    }
  }

  /// Clients ask for what other providers have, and libraries repeat that in each refresh.
  @Test func `leaves out the scopes that a client may not have, says so, and refuses if none is left`() async throws {
    try await TestServer.runOpenID { test in
      var phone = OAuthApp()
      (phone.id, phone.redirect) = ("phone", "org.example.phone:/cb")
      phone.scope = " openid  email profile groups profile phone offline_access "
      let answer = try await phone.redeem(try await phone.code(Browser(test.client.base)), at: test)
      #expect(answer.json["scope"] == "openid profile")
      let line = test.logs.entries.first { $0.message == "Scopes left out that the client may not request" }
      #expect(line?.metadata["handstamp.scopes"] == "email groups phone offline_access")
      let again = try await phone.refresh(
        answer.json["refresh_token"] ?? "", at: test, [("scope", phone.scope ?? "")])
      #expect(again.json["scope"] == "openid profile")
      phone.scope = "admin groups"
      #expect(try await Browser(test.client.base).get(phone.page()).fields["error"] == "invalid_scope")
    }
  }

  @Test func `tells about the user what the scopes allow`() async throws {
    try await TestServer.runOpenID { test in
      func claims(_ scope: String) async throws -> [String: String] {
        let answer = try await OAuthApp.party(scope: scope).tokens(Browser(test.client.base), at: test)
        let info = try await test.client.get("/oauth/userinfo", token: answer.json["access_token"] ?? "")
        #expect(info.status == 200)
        return info.json.fields.mapValues { "\($0)" }
      }
      let email = try #require(EmailAddress("ada@example.org"))
      let id = try #require(try await test.server.registry.account(email: email))
      #expect(try await claims("openid") == ["sub": id.id.rawValue])
      #expect(
        try await claims("openid profile") == ["sub": id.id.rawValue, "name": "Ada", "preferred_username": "Ada"])
      var german = id
      german.locale = LanguageTag(rawValue: "de")
      _ = try await test.server.registry.update(german)
      #expect(try await claims("openid profile")["locale"] == "de")
      let all = try await claims("openid email")
      #expect(all["locale"] == nil)
      #expect(all["email"] == "ada@example.org")
      // She signed up without a mail.
      #expect(all["email_verified"] == "0" || all["email_verified"] == "false")
      #expect(try await test.client.get("/oauth/userinfo", token: "x").status == 401)
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A consent` {
  @Test func `is asked for once, and again for more`() async throws {
    try await TestServer.runOpenID { test in
      let browser = Browser(test.client.base)
      _ = try await OAuthApp.party(scope: "openid").tokens(browser, at: test)
      let again = try await browser.get(OAuthApp.party(scope: "openid").page())
      #expect(again.status == 303)
      #expect(again.fields["code"] != nil)
      var silent = OAuthApp.party(scope: "openid")
      silent.more.append(("prompt", "none"))
      #expect(try await browser.get(silent.page()).fields["code"] != nil)
      let more = try await browser.get(OAuthApp.party(scope: "openid email").page())
      #expect(more.title.hasPrefix("Allow "))
      for prompt in ["consent", "select_account"] {
        var asking = OAuthApp.party(scope: "openid")
        asking.more.append(("prompt", prompt))
        #expect(try await browser.get(asking.page()).title.hasPrefix("Allow "), "\(prompt)")
      }
    }
  }

  @Test func `is for the time of the browser's session, or with offline_access for longer`() async throws {
    try await TestServer.runOpenID { test in
      let browser = Browser(test.client.base)
      let short = try await browser.signIn(at: OAuthApp.party(scope: "openid").page())
      #expect(short.text.contains("Access ends with your session in this browser"))
      #expect(!short.text.contains("Access lasts"))
      let long = try await browser.get(OAuthApp.party(scope: "openid offline_access").page())
      #expect(long.text.contains("Access lasts until you or the app end it"))
      #expect(!long.text.contains("Access ends"))
    }
  }

  @Test func `is asked for every time where another program could get the answer`() async throws {
    try await TestServer.runOpenID { test in
      for redirect in ["org.example.phone:/cb", "http://127.0.0.1:4711/cb"] {
        var phone = OAuthApp()
        (phone.id, phone.redirect, phone.scope) = ("phone", redirect, "openid")
        let browser = Browser(test.client.base)
        _ = try await phone.code(browser)
        #expect(try await browser.get(phone.page()).title.hasPrefix("Allow "))
        phone.more = [("prompt", "none")]
        #expect(try await browser.get(phone.page()).fields["error"] == "consent_required")
      }
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A hint of a client` {
  @Test func `about the address fills in the form`() async throws {
    try await TestServer.runOpenID { test in
      var app = OAuthApp.party()
      app.more.append(("login_hint", "ada@example.org\"><script>"))
      let page = try await Browser(test.client.base).get(app.page())
      #expect(page.text.contains("value=\"ada@example.org&quot;&gt;&lt;script&gt;\""))
    }
  }

  @Test func `about the user must fit who is signed in`() async throws {
    try await TestServer.runOpenID { test in
      let browser = Browser(test.client.base)
      let mine: String = try #require(try await OAuthApp.party().tokens(browser, at: test).json["id_token"])
      _ = try await test.signUp("eve@example.org", device: "eve")
      let other = Browser(test.client.base)
      _ = try await other.signIn(at: OAuthApp.party().page(), as: "eve@example.org")
      func error(_ browser: Browser, _ hint: String) async throws -> String? {
        var app = OAuthApp.party()
        app.more += [("prompt", "none"), ("id_token_hint", hint)]
        return try await browser.get(app.page()).fields["error"]
      }
      #expect(try await error(browser, mine) == nil)
      test.clock.advance(by: .seconds(3600))
      #expect(try await error(browser, mine) == nil, "an expired ID token is a hint, too")
      #expect(try await error(other, mine) == "login_required")
      #expect(try await error(browser, "no token") == nil)
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A request that was pushed` {
  private func push(
    _ app: OAuthApp, _ test: TestServer, secret: String = TestServer.secret, _ more: [(String, String)] = []
  ) async throws -> WireClient.Answer {
    let query = String(app.page().split(separator: "?")[1])
    let fields = query.split(separator: "&").map { part in
      let pair = part.split(separator: "=", maxSplits: 1).map { $0.removingPercentEncoding ?? "" }
      return (pair[0], pair.count > 1 ? pair[1] : "")
    }
    return try await test.oauth("/oauth/par", fields + more, headers: TestServer.basic(app.id, secret))
  }

  @Test func `is used by its reference, once`() async throws {
    try await TestServer.runOpenID { test in
      let app = OAuthApp.party()
      let answer = try await push(app, test)
      #expect(answer.status == 201)
      #expect(answer.json["expires_in"] == 600)
      let reference: String = try #require(answer.json["request_uri"])
      let path = Browser.path("/oauth/authorize", [("client_id", "party"), ("request_uri", reference)])
      let browser = Browser(test.client.base)
      let page = try await browser.signIn(at: path)
      #expect(page.title.hasPrefix("Allow "))
      let back = try await browser.press("allow", on: page, at: path)
      #expect(back.fields["state"] == "s t&a=te")
      let tokens = try await app.redeem(
        back.fields["code"] ?? "", at: test, headers: TestServer.basic("party", TestServer.secret))
      #expect(tokens.claims("id_token")["nonce"] == "n-0S6_WzA2Mj")
      #expect(try await browser.get(path).status == 400)
      #expect(try await browser.press("allow", on: page, at: path).status == 400)
    }
  }

  @Test func `that wants a fresh sign-in gets one, not an endless row of them`() async throws {
    try await TestServer.runOpenID { test in
      let browser = Browser(test.client.base)
      _ = try await browser.signIn(at: OAuthApp.party().page())
      var app = OAuthApp.party()
      app.more.append(("prompt", "login"))
      let reference: String = try #require(try await push(app, test).json["request_uri"])
      let path = Browser.path("/oauth/authorize", [("client_id", "party"), ("request_uri", reference)])
      let page = try await browser.get(path)
      #expect(page.title == "Sign in")
      let answer = try await browser.press(
        "sign-in", on: page, at: path, [("email", "ada@example.org"), ("password", TestServer.password)])
      let next = String(try #require(answer.location).dropFirst("https://id.example.org".count))
      #expect(try await browser.get(next).title.hasPrefix("Allow "))
      // The proof is for this request and this browser's sign-in.
      let proof = try #require(next.components(separatedBy: "signed_in=").last)
      var other = app
      other.more.append(("signed_in", proof))
      #expect(try await browser.get(other.page()).title == "Sign in")
    }
  }

  @Test func `is refused at once if it is not valid, and is its client's alone`() async throws {
    try await TestServer.runOpenID { test in
      var app = OAuthApp.party()
      #expect(try await push(app, test, secret: "wrong").status == 401)
      app.redirect = "https://elsewhere.example.org/cb"
      #expect(try await push(app, test).json["error"] == "invalid_request")
      app = .party(scope: "admin")
      #expect(try await push(app, test).json["error"] == "invalid_scope")
      let nested = [("request_uri", "urn:ietf:params:oauth:request_uri:x")]
      #expect(try await push(.party(), test, nested).json["error"] == "request_uri_not_supported")
      let reference: String = try #require(try await push(.party(), test).json["request_uri"])
      let browser = Browser(test.client.base)
      for fields in [
        [("client_id", "mail"), ("request_uri", reference)], [("request_uri", reference)],
        [("client_id", "party"), ("request_uri", reference + "x")],
      ] {
        #expect(try await browser.get(Browser.path("/oauth/authorize", fields)).status == 400)
      }
      test.clock.advance(by: .seconds(600))
      let late = Browser.path("/oauth/authorize", [("client_id", "party"), ("request_uri", reference)])
      #expect(try await browser.get(late).status == 400)
    }
  }
}

extension WireClient.Answer {
  /// The claims of a token in the answer, not verified.
  func claims(_ name: String) -> WireClient.JSON {
    let token: String = json[name] ?? ""
    let parts = token.split(separator: ".")
    let payload = parts.count == 3 ? Base64URL.decode(Array(parts[1].utf8)) ?? [] : []
    let object = try? JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any]
    return WireClient.JSON(object ?? [:])
  }
}
#endif
