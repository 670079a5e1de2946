#if Programs
import Foundation
import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

/// OpenID Connect Core 1.0 section 3.1.2.1, RFC 9470, and the operator's rule.
@Suite(.timeLimit(.minutes(10))) struct `The strength of a sign-in` {
  private let mfa = AuthenticationContext.multiFactor.rawValue

  private func ada(_ test: TestServer) async throws -> AccountRecord {
    let email = try #require(EmailAddress("ada@example.org"))
    return try #require(try await test.server.registry.account(email: email))
  }

  private func addPasskey(_ test: TestServer) async throws { try await test.addPasskey("one", to: try await ada(test)) }

  /// A browser in which Ada has signed in with these methods.
  private func signedIn(by methods: AuthenticationMethods, _ test: TestServer) async throws -> Browser {
    let new = try await test.server.registry.beginBrowserSession(
      by: CredentialUse(account: try await ada(test), way: .password, methods: methods, changes: []),
      on: DeviceInfo(id: DeviceID("browser \(UInt64.random(in: 0 ... .max))"), name: "B", platform: "web"),
      now: test.clock.now)
    let browser = Browser(test.client.base)
    browser.cookies[ResponseCookie.session] = new.cookie.withExposed { $0 }
    return browser
  }

  private func party(_ more: [(String, String)] = []) -> OAuthApp {
    var app = OAuthApp.party()
    app.more += more
    return app
  }

  private func amr(_ claims: WireClient.JSON) -> [String] { claims["amr"] ?? [] }

  @Test(arguments: [
    (AuthenticationMethods.password, ["pwd"], String?.none),
    (.passwordAndCode, ["pwd", "otp", "mfa"], "https://refeds.org/profile/mfa"),
    (.passkey(mayBeCopied: true), ["swk", "user", "mfa"], "phr"),
    (.recoveryCode, ["otp"], nil), (AuthenticationMethods(provider: ["pin"]), ["fed", "pin"], nil),
  ])
  func `is in ID tokens, access tokens, refreshed ones and introspection`(
    methods: AuthenticationMethods, words: [String], context: String?
  ) async throws {
    try await TestServer.runOpenID(adding: [
      try ConfiguredClient(
        id: "api", secretHash: ConfiguredClient.hash(of: Secret(TestServer.secret)), flows: [], introspects: true)
    ]
    ) { test in
      let start = Int(test.clock.now.seconds)
      let browser = try await signedIn(by: methods, test)
      test.clock.advance(by: .seconds(60))
      let answer = try await party().tokens(browser, at: test)
      let refresh: String = try #require(answer.json["refresh_token"])
      let next = try await test.oauth(
        "/oauth/token", [("grant_type", "refresh_token"), ("refresh_token", refresh)],
        headers: TestServer.basic("party", TestServer.secret))
      let refreshed: String = try #require(next.json["access_token"])
      let facts = try await test.introspect(refreshed).json
      for claims in [
        answer.claims("id_token"), answer.claims("access_token"), next.claims("id_token"),
        next.claims("access_token"), facts,
      ] {
        #expect(amr(claims) == words)
        #expect(claims["acr"] == context)
        #expect(claims["auth_time"] == start)
      }
      // As Authlib reads it, too.
      let keys = try await test.client.get("/.well-known/jwks.json").text
      let token: String = try #require(answer.json["id_token"])
      let theirs = try await Authlib.verify(token, keys: keys)[object: "payload"]
      #expect(amr(theirs) == words && theirs["acr"] == context)
    }
  }

  @Test func `is in the tokens of apps and browsers, by what they show`() async throws {
    try await TestServer.run {
      $0.accessTokenLife = .seconds(86_400)
    } body: { test async throws in
      let phone = try await test.signUp()
      let signedIn = try await test.client.post("/v1/sign-in", json: TestServer.signInBody("ada@example.org"))
      #expect(amr(signedIn.claims("access_token")) == ["pwd"])
      let proof = try await test.client.post(
        "/v1/reauthenticate", token: phone.access, json: #"{"password":"\#(TestServer.password)"}"#)
      #expect(amr(proof.claims("access_token")) == ["pwd"])
      let guest = try await test.client.post("/v1/sign-in/anonymous", json: "{\(TestServer.deviceBody("guest"))}")
      #expect((guest.claims("access_token")["amr"] as [String]?) == nil)
    }
  }

  @Test func `is what a client asks for, or the client hears that the account has nothing for it`() async throws {
    try await TestServer.runOpenID { test in
      let weak = try await signedIn(by: .password, test)
      let asked = party([("acr_values", "phr")])
      let refused = try await weak.get(asked.page())
      #expect(refused.status == 303 && refused.fields["error"] == "unmet_authentication_requirements")
      #expect(refused.fields["state"] == "s t&a=te" && refused.fields["code"] == nil)
      // Values that the server does not know are voluntary.
      #expect(try await party([("acr_values", "urn:x loa9")]).tokens(weak, at: test).status == 200)

      try await addPasskey(test)
      let page = try await weak.get(asked.page())
      #expect(page.title == "Sign in" && page.text.contains("sign in with a passkey"))
      // The password, once more, is not enough; nor is a form without the page.
      let again = try await weak.signIn(at: asked.page())
      #expect(again.title == "Sign in")
      #expect(try await weak.press("allow", on: again, at: asked.page()).fields["code"] == nil)
      let silent = try await weak.get(party([("acr_values", "phr"), ("prompt", "none")]).page())
      #expect(silent.fields["error"] == "login_required")

      let strong = try await signedIn(by: .passkey(mayBeCopied: true), test)
      for (values, named) in [("phr", "phr"), (mfa, mfa), ("phr " + mfa, mfa)] {
        let tokens = try await party([("acr_values", values)]).tokens(strong, at: test)
        #expect(tokens.claims("id_token")["acr"] == named, "clients compare texts")
        #expect(tokens.claims("access_token")["acr"] == named)
      }
      // A strong sign-in of yesterday is not one of now.
      test.clock.advance(by: .seconds(61))
      let old = try await strong.get(party([("acr_values", "phr"), ("max_age", "60")]).page())
      #expect(old.title == "Sign in")
      #expect(try await party([("acr_values", "phr"), ("max_age", "61")]).tokens(strong, at: test).status == 200)
    }
  }

  @Test func `is asked for in a request that is pushed`() async throws {
    try await TestServer.runOpenID { test in
      let asked = party([("acr_values", mfa)])
      let fields = URLComponents(string: asked.page())?.queryItems?.map { ($0.name, $0.value ?? "") } ?? []
      let pushed = try await test.oauth("/oauth/par", fields, headers: TestServer.basic("party", TestServer.secret))
      let reference: String = try #require(pushed.json["request_uri"])
      let path = Browser.path("/oauth/authorize", [("client_id", "party"), ("request_uri", reference)])
      let refused = try await signedIn(by: .password, test).get(path)
      #expect(refused.fields["error"] == "unmet_authentication_requirements")
    }
  }

  @Test func `is asked for by devices, and their user is led there`() async throws {
    try await TestServer.runOAuth { test in
      func codes(_ more: [(String, String)]) async throws -> (device: String, page: String) {
        let codes = try await test.oauth("/oauth/device_authorization", [("client_id", "own-tv")] + more)
        let device: String = try #require(codes.json["device_code"])
        let user: String = try #require(codes.json["user_code"])
        return (device, "/device?user_code=" + user)
      }
      func token(_ device: String) async throws -> WireClient.Answer {
        try await test.oauth(
          "/oauth/token",
          [
            ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"), ("device_code", device),
            ("client_id", "own-tv"),
          ])
      }
      let weak = try await signedIn(by: .password, test)
      let first = try await codes([("acr_values", "phr")])
      #expect(try await weak.get(first.page).title == "Set up a second factor first")
      #expect(try await token(first.device).json["error"] == "authorization_pending")

      try await addPasskey(test)
      #expect(try await weak.get(first.page).title == "Sign in")
      let strong = try await signedIn(by: .passkey(mayBeCopied: false), test)
      let page = try await strong.get(first.page)
      let code = String(first.page.dropFirst("/device?user_code=".count))
      _ = try await strong.press("allow", on: page, at: first.page, [("user_code", code)])
      // Not sooner than the interval.
      test.clock.advance(by: .seconds(5))
      let answer = try await token(first.device)
      #expect(answer.claims("access_token")["acr"] == "phr")
      #expect(amr(answer.claims("access_token")) == ["hwk", "user", "mfa"])

      test.clock.advance(by: .seconds(60))
      let second = try await codes([("max_age", "59")])
      #expect(try await strong.get(second.page).title == "Sign in")
      // The code that is typed, not followed, gets into the address.
      let typed = String(second.page.dropFirst("/device?user_code=".count))
      let empty = try await strong.get("/device")
      let detour = try await strong.press("look", on: empty, at: "/device", [("user_code", typed)])
      #expect(detour.status == 303 && detour.location?.hasSuffix(second.page) == true)
      let form = try await strong.get(second.page)
      let back = try await strong.press(
        "sign-in", on: form, at: second.page, [("email", "ada@example.org"), ("password", TestServer.password)])
      let next = String(try #require(back.location).dropFirst("https://id.example.org".count))
      let allow = try await strong.get(next)
      #expect(allow.title != "Sign in" && allow.text.contains(typed))
    }
  }

  @Test func `is required by group: apps are told where to set it up, and no session ends`() async throws {
    try await TestServer.run {
      $0.requiredAssurance = AssuranceRequirement(groups: ["staff": .multiFactor])
    } body: { test async throws in
      let phone = try await test.signUp()
      #expect(try await test.signIn().id != phone.id, "in no group")
      try await test.server.registry.setGroups(["staff"], of: try await ada(test), now: test.clock.now)
      let refused = try await test.client.post(
        "/v1/sign-in", json: TestServer.signInBody("ada@example.org", device: "other"))
      #expect(refused.status == 403 && refused.code == "second_factor_missing")
      #expect(refused.json["page"] == "https://id.example.org/account/security")
      let wrong = try await test.client.post(
        "/v1/sign-in", json: TestServer.signInBody("ada@example.org", password: "not this one", device: "other"))
      #expect(wrong.code == "wrong_credentials", "only with the right password")
      #expect(try await test.client.get("/v1/me", token: phone.access).status == 200)
      let refreshed = try await test.refresh(phone.refresh, key: .fresh)
      #expect(refreshed.status == 200)
      #expect((refreshed.claims("access_token")["acr"] as String?) == nil, "so that APIs can ask for more")
      let app = try await test.addApp(to: phone)
      let strong = try await test.signIn(code: app.code(at: test.clock.now), device: "other")
      #expect(strong.status == 200)
      #expect(strong.claims("access_token")["acr"] == mfa)
    }
  }

  @Test func `is required by client: people without it are led to set it up, and come back`() async throws {
    let site = try ConfiguredClient(
      id: "bank", name: "The bank", redirectURIs: ["https://bank.example.org/cb"], scopes: ["openid"],
      requiredContext: .phishingResistant)
    try await TestServer.runOpenID(adding: [site]) { test in
      var app = OAuthApp()
      (app.id, app.redirect, app.scope) = ("bank", "https://bank.example.org/cb", "openid")
      let weak = try await signedIn(by: .password, test)
      let page = try await weak.get(app.page())
      #expect(page.status == 200 && page.title == "Set up a second factor first")
      #expect(page.text.contains("/account/security") && page.text.contains("bank"))
      #expect(try await weak.get("/account/security").status == 200, "which one factor is enough for, the first time")
      let silent = try await weak.get(app.page() + "&prompt=none")
      #expect(silent.fields["error"] == "login_required")

      try await addPasskey(test)
      let strong = try await signedIn(by: .passkey(mayBeCopied: true), test)
      #expect(try await app.code(strong).isEmpty == false)
      #expect(try await weak.get(app.page()).title == "Sign in")
    }
  }

  @Test func `cannot be had by adding a second factor with the first alone`() async throws {
    try await TestServer.run(mailer: Post()) {
      $0.requiredAssurance = AssuranceRequirement(groups: ["*": .phishingResistant])
    } body: { test async throws in
      let phone = try await test.signUp()
      // The first one takes what there is.
      #expect(try await test.client.post("/v1/passkeys/options", token: phone.access, json: "").status == 200)
      try await addPasskey(test)
      let refused = try await test.client.post("/v1/passkeys/options", token: phone.access, json: "")
      #expect(refused.status == 403 && refused.code == "reauthentication_required")
      let removed = try await test.client.send("DELETE", "/v1/passkeys/one", token: phone.access)
      #expect(removed.code == "reauthentication_required")
      let weak = try await signedIn(by: .password, test)
      let asked = try await weak.press("make-codes", on: weak.get("/account/security"), at: "/account/security")
      #expect(asked.title.hasPrefix("Confirm"))
      // A link that is mailed to it would remove the passkey.
      let mail = try await weak.press(
        "change", on: weak.get("/account/email"), at: "/account/email", [("new_email", "eve@example.org")])
      #expect(mail.title.hasPrefix("Confirm"))
      #expect(try await test.server.registry.emailChange(of: try await ada(test).id, now: test.clock.now) == nil)
      // Nor does one that is mailed to the owner's.
      let token = try await test.mailedReset(of: try await ada(test))
      let done = try await test.client.post(
        "/v1/password-reset/confirm", json: #"{"token":"\#(token)","new_password":"\#(TestServer.password)"}"#)
      #expect(done.status == 204)
      #expect(try await test.server.registry.passkeys(of: try await ada(test).id).count == 1)
      // A recovery code is there for a lost device, and lets its user set up another one.
      let lost = try await signedIn(by: .recovered, test)
      let page = try await lost.press("make-codes", on: lost.get("/account/security"), at: "/account/security")
      #expect(page.title.hasPrefix("Confirm"))
      let options = try await lost.send(
        "POST", "/account/passkey/options", headers: ["X-CSRF-Token": lost.get("/account/security").csrf ?? ""])
      #expect(options.status == 200)
      let alone = try await signedIn(by: .recoveryCode, test)
      let asks = try await alone.press("unlock", on: alone.get("/account/security"), at: "/account/security")
      #expect(asks.title.hasPrefix("Confirm"), "a code alone is one factor")
    }
  }

  @Test func `is published`() async throws {
    try await TestServer.run { test async throws in
      let document = try await test.client.get("/.well-known/openid-configuration").json
      #expect((document["acr_values_supported"] as [String]?) == ["phr", "https://refeds.org/profile/mfa"])
      #expect((document["claims_supported"] as [String]?)?.contains("amr") == true)
    }
  }
}
#endif
