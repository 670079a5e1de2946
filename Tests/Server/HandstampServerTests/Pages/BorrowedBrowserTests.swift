#if Programs
import Foundation
import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A borrowed browser on the pages` {
  private static let ada = [("email", "ada@example.org"), ("password", TestServer.password)]

  enum Way: CaseIterable { case password, secondTry, secondFactor, signUp, recovery, application }

  /// The response that begins a session, after as many steps as the way takes. Only the first one has the box.
  private func signIn(
    _ way: Way, _ browser: Browser, as session: TestServer.Session, at test: TestServer
  ) async throws -> Browser.BrowserResponse {
    let ada = Self.ada + Browser.box
    switch way {
    case .password: return try await browser.fill("/sign-in", "sign-in", ada)
    case .secondTry:
      let wrong = [("email", "ada@example.org"), ("password", "wrong password")]
      let again = try await browser.fill("/sign-in", "sign-in", wrong + Browser.box)
      #expect(again.status == 200 && again.text.contains(#"aria-describedby="borrowed-hint" checked>"#))
      return try await browser.press("sign-in", on: again, at: "/sign-in", ada)
    case .secondFactor:
      let app = try await test.addApp(to: session)
      let code = app.code(at: test.clock.now)
      let asked = try await browser.fill("/sign-in", "sign-in", ada)
      let proof = try #require(asked.text.firstMatch(of: /name="proof" value="([^"]+)"/)).output.1
      return try await browser.press(
        "second-factor", on: asked, at: "/sign-in", [("proof", String(proof)), ("code", code)])
    case .signUp:
      let eve = [("name", "Eve"), ("email", "eve@example.org"), ("new_password", "a new password 7")]
      return try await browser.fill("/sign-up", "sign-up", eve + Browser.box)
    case .recovery:
      let own = try await Browser.signedIn(test)
      let codes = try await own.fill("/account/security", "make-codes")
      let code = try #require(codes.text.firstMatch(of: /<li><code>([^<]+)<\/code>/)).output.1
      let typed = [("email", "ada@example.org"), ("recovery_code", String(code))]
      return try await browser.fill("/recover", "recover", typed + Browser.box)
    case .application:
      return try await browser.send(
        "POST", "/v1/session", headers: ["Content-Type": "application/json", "Origin": Browser.issuer],
        body: #"{"email":"ada@example.org","password":"\#(TestServer.password)","remember":false}"#)
    }
  }

  private func isBorrowed(
    _ browser: Browser, after answer: Browser.BrowserResponse, _ registry: Registry, now: UnixTime
  ) async throws -> Bool {
    let cookie = try #require(answer.all("set-cookie").first { $0.hasPrefix(ResponseCookie.session + "=") })
    let session = try #require(
      try await registry.anyBrowserSession(Secret(browser.cookies[ResponseCookie.session] ?? ""), now: now))
    let isKnown = try await registry.knows(session.row.device.id, of: session.account.id, now: now.advanced(by: day))
    #expect(cookie.contains("Max-Age") != session.row.isBorrowed)
    #expect((browser.cookies[ResponseCookie.device] == nil) == session.row.isBorrowed)
    #expect(isKnown != session.row.isBorrowed)
    return session.row.isBorrowed
  }

  private let day = Duration.seconds(86_400)

  @Test(arguments: Way.allCases) func `is remembered as one at every step, and by no lasting cookie`(
    way: Way
  ) async throws {
    try await TestServer.run { test in
      let (session, browser) = (try await test.signUp(), Browser(test.client.base))
      let answer = try await signIn(way, browser, as: session, at: test)
      #expect(try await isBorrowed(browser, after: answer, test.server.registry, now: test.clock.now))
    }
  }

  @Test func `is remembered on the way to a provider, and back`() async throws {
    try await ProviderPair.run { pair in
      _ = try await pair.person("ada@example.org")
      for box in [Browser.box, []] {
        let browser = pair.browser
        // The form of the other ways, whose button is not pressed.
        let page = try await browser.get("/sign-in")
        let sent = try await browser.post(
          "/sign-in", [("csrf", page.csrf ?? ""), ("main", "sign-in"), ("provider", "office")] + box)
        let url = try #require(sent.header("refresh")).dropFirst("0; url=".count)
        let answer = try await browser.get(try await pair.visit(String(url), as: "ada@example.org"))
        #expect(
          try await isBorrowed(browser, after: answer, pair.registry, now: pair.test.clock.now) == !box.isEmpty)
        pair.test.clock.advance(by: .seconds(60))
      }
    }
  }

  @Test func `stays one while it is signed in, and is one's own when a form says so`() async throws {
    try await TestServer.run { test in
      _ = try await test.signUp()
      let (browser, registry) = (Browser(test.client.base), test.server.registry)
      func security() async throws -> Bool {
        try await browser.get("/account/security").text.contains("Add a passkey")
      }
      let first = try await browser.fill("/sign-in", "sign-in", Self.ada + Browser.box)
      #expect(try await isBorrowed(browser, after: first, registry, now: test.clock.now))
      #expect(try await !security(), "no passkey is left on the device of another person")
      test.clock.advance(by: .seconds(16 * 60))
      #expect(try await browser.get("/account").status == 303, "whatever cookie the browser has kept")
      let page = try await browser.get("/sign-in")
      #expect(!page.text.contains(#"aria-describedby="borrowed-hint" checked>"#), "the next user is asked anew")
      let own = try await browser.press("sign-in", on: page, at: "/sign-in", Self.ada + [("asks", "borrowed")])
      #expect(try await !isBorrowed(browser, after: own, registry, now: test.clock.now))
      #expect(browser.cookies[ResponseCookie.borrowed] == nil)
      #expect(try await security())
    }
  }

  /// A sign-in with the box that was left before its end.
  @Test func `leaves nothing of an abandoned sign-in to a session of one's own`() async throws {
    try await TestServer.run { test in
      _ = try await test.signUp()
      let registry = test.server.registry
      let wrong = [("email", "ada@example.org"), ("password", "wrong password")] + Browser.box
      let said = Browser(test.client.base)
      _ = try await said.fill("/sign-in", "sign-in", wrong)
      let cookie = try #require(said.cookies[ResponseCookie.borrowed])

      let application = Browser(test.client.base)
      application.cookies[ResponseCookie.borrowed] = cookie
      let body = #"{"email":"ada@example.org","password":"\#(TestServer.password)"}"#
      let json = ["Content-Type": "application/json", "Origin": Browser.issuer]
      let begun = try await application.send("POST", "/v1/session", headers: json, body: body)
      #expect(try await !isBorrowed(application, after: begun, registry, now: test.clock.now))
      #expect(application.cookies[ResponseCookie.borrowed] == nil)
      let headers = ["Origin": Browser.issuer, "X-CSRF-Token": begun.json["csrf_token"] ?? ""]
      application.cookies[ResponseCookie.borrowed] = cookie
      #expect(try await application.send("DELETE", "/v1/session", headers: headers).status == 204)
      #expect(application.cookies[ResponseCookie.borrowed] == nil)

      let own = try await Browser.signedIn(test)
      let previous = try #require(own.cookies[ResponseCookie.session])
      let before = try #require(try await registry.anyBrowserSession(Secret(previous), now: test.clock.now))
      test.clock.advance(by: .seconds(3600))
      own.cookies[ResponseCookie.borrowed] = cookie
      let asked = try await own.fill("/account/security", "make-codes")
      #expect(asked.text.contains(#"type="password""#) && !asked.text.contains(#"name="borrowed""#))
      let confirmed = try await own.press(
        "sign-in", on: asked, at: "/account/security", [("password", TestServer.password)])
      #expect(try await !isBorrowed(own, after: confirmed, registry, now: test.clock.now))
      let renewed = try #require(own.cookies[ResponseCookie.session])
      let after = try #require(try await registry.anyBrowserSession(Secret(renewed), now: test.clock.now))
      #expect(after.row.id == before.row.id && own.cookies[ResponseCookie.borrowed] == nil)
      own.cookies[ResponseCookie.borrowed] = cookie
      _ = try await own.press("sign-out", on: try await own.get("/account"), at: "/sign-out")
      #expect(own.cookies[ResponseCookie.session] == nil && own.cookies[ResponseCookie.borrowed] == nil)
    }
  }

  @Test(arguments: [false, true]) func `is kept by what its user does, and by nothing that a tab asks by itself`(
    isBorrowed: Bool
  ) async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      let browser = isBorrowed ? Browser(test.client.base) : try await Browser.signedIn(test)
      if isBorrowed { _ = try await signIn(.application, browser, as: session, at: test) }
      let registry = test.server.registry
      let cookie = Secret(try #require(browser.cookies[ResponseCookie.session]))
      func isKept(by request: (_ headers: [String: String]) async throws -> Int) async throws -> Bool {
        let before = try #require(try await registry.anyBrowserSession(cookie, now: test.clock.now))
        test.clock.advance(by: .seconds(280))
        let origin = ["Origin": Browser.issuer]
        let state = try await browser.send("GET", "/v1/session", headers: origin)
        #expect(state.json["signed_in"] == true)
        if !isBorrowed { test.clock.advance(by: .seconds(280)) }
        let middle = try #require(try await registry.anyBrowserSession(cookie, now: test.clock.now))
        #expect((middle.row.lastSeenAt == before.row.lastSeenAt) == isBorrowed)
        let status = try await request(origin.merging(["X-CSRF-Token": state.json["csrf_token"] ?? ""]) { $1 })
        #expect(status == 200)
        let after = try #require(try await registry.anyBrowserSession(cookie, now: test.clock.now))
        return after.row.lastSeenAt != middle.row.lastSeenAt
      }
      let list = try await isKept { _ in try await browser.get("/account/devices/list").status }
      let events = try await isKept { _ in
        let cookies = "\(ResponseCookie.session)=\(browser.cookies[ResponseCookie.session] ?? "")"
        let stream = try await WireStream(test.client, path: "/account/devices/events", headers: ["Cookie": cookies])
        return try await stream.next()?.name == "verification" ? 200 : 500
      }
      let token = try await isKept { headers in
        try await browser.send("POST", "/v1/session/token", headers: headers).status
      }
      #expect(!list && !events && token != isBorrowed)
      if isBorrowed {
        test.clock.advance(by: .seconds(60))
        let state = try await browser.send("GET", "/v1/session", headers: ["Origin": Browser.issuer])
        #expect(state.json["signed_in"] == false, "15 min after its user did something")
      } else {
        let page = try await isKept { _ in try await browser.get("/account").status }
        #expect(page)
      }
    }
  }

  @Test func `is not an app that stores nothing, whose session ends unused and never by its age`() async throws {
    try await TestServer.runOAuth { test in
      let body = String(TestServer.signInBody("ada@example.org").dropLast())
      #expect(try await test.client.post("/v1/sign-in", json: body + #","remember":"no"}"#).status == 400)
      let own = try TestServer.Session(try await test.client.post("/v1/sign-in", json: body + #","remember":false}"#))
      let code = try await OAuthApp().code(Browser(test.client.base))
      let refused = try await OAuthApp().redeem(code, at: test, remember: "no")
      #expect(refused.json["error"] == "invalid_request")
      let other = try TestServer.Session(try await OAuthApp().redeem(code, at: test, remember: "false"))
      for id in [own.id, other.id] {
        let row = try #require(try await test.server.registry.storedSession(SessionID(id)))
        #expect(row.idleLimit == day && (row.absoluteExpiry == nil) == (row.client == nil))
      }
    }
  }
}
#endif
