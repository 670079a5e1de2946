#if Programs
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird
import Logging
import Testing

@testable import HandstampServer

/// An app whose users have accounts at a session server.
private struct Forum {
  static let url = "https://forum.example.org"

  let provider: TestServer
  let registry: Registry
  let base: String
  /// The user's session at the provider, besides those of its browsers.
  let ada: TestServer.Session
  /// The way of the provider's back-channel logouts to the app.
  let wayBack: ProviderPair.WayBack

  /// - Parameter configure: changes how the app knows the provider.
  static func run(
    _ configure: (inout UpstreamProvider) -> Void = { _ in }, body: (Forum) async throws -> Void
  ) async throws {
    let client = try ConfiguredClient(
      id: "forum", secretHash: ConfiguredClient.hash(of: Secret(TestServer.secret)),
      redirectURIs: [url + "/sign-in/with/own/callback"], scopes: ["openid", "profile", "email"],
      backChannelLogoutURI: url + "/sign-in/with/own/logout", postLogoutRedirectURIs: [url + "/"])
    let wayBack = ProviderPair.WayBack(to: url)
    try await TestServer.run(transport: wayBack) {
      $0.clients = [client]
    } body: { test in
      let ada = try await test.signUp()
      var settings = UpstreamProvider(
        id: "own", name: "Our accounts", issuer: "https://id.example.org", clientID: "forum",
        clientSecret: Secret(TestServer.secret))
      configure(&settings)
      var random = SystemRandomNumberGenerator()
      let registry = Registry(
        store: MemoryRegistryStore(), mint: TokenMint(try MasterKeys(drawing: KeyID("k1"), from: &random)))
      var logger = Logger(label: "forum")
      logger.logLevel = .critical
      let clock = test.clock
      let signIn = try OpenIDSignIn(
        settings, url: url, registry: registry, transport: Rerouted(target: test.client.base), logger: logger,
        now: { clock.now })
      let router = Router(context: BrowserContext.self)
      router.get("/") { _, _ in "anyone may read this" }
      signIn.addRoutes(to: router)
      let notes = signIn.protected(router.group("/notes"))
      notes.get { _, context in "the notes of \(context.session.account.username)" }
      notes.post { _, context in context.session.account.id.rawValue }
      let (ports, port) = AsyncStream.makeStream(of: Int.self)
      let application = Application(
        router: router, server: .sturdyHTTP1(), configuration: .init(address: .hostname("127.0.0.1", port: 0)),
        onServerRunning: { channel in port.yield(channel.localAddress?.port ?? 0) }, logger: logger)
      let running = Task { try await application.run() }
      defer { running.cancel() }
      guard let number = await ports.first(where: { _ in true }) else { throw CancellationError() }
      let base = "http://127.0.0.1:\(number)"
      wayBack.lead(to: base)
      try await body(Forum(provider: test, registry: registry, base: base, ada: ada, wayBack: wayBack))
    }
  }

  static func path(_ address: String?) throws -> String {
    let address = try #require(address)
    let host = try #require([url, "https://id.example.org"].first { address.hasPrefix($0) })
    return String(address.dropFirst(host.count))
  }

  /// The path that the provider sends the browser back to.
  func callback(of page: String, _ browser: Browser, at accounts: Browser) async throws -> String {
    let start = try await browser.get(page)
    #expect(start.status == 303)
    let authorize = try Forum.path(start.location)
    var sight = try await accounts.get(authorize)
    if sight.title == "Sign in" { sight = try await accounts.signIn(at: authorize) }
    let back = sight.status == 303 ? sight : try await accounts.press("allow", on: sight, at: authorize)
    return try Forum.path(back.location)
  }

  /// Signs in from a page of the app.
  func signIn(_ browser: Browser, at accounts: Browser) async throws -> Browser.BrowserResponse {
    let first = try await browser.get("/notes?a=b", headers: ["Accept": "text/html"])
    #expect(first.location == "/sign-in/with/own?next=%2Fnotes%3Fa%3Db")
    return try await browser.get(try await callback(of: first.location ?? "", browser, at: accounts))
  }
}

/// Sends requests for the provider's public name to where it listens.
private struct Rerouted: Transport {
  private let base = PatientTransport()
  let target: String

  init(target: String) { self.target = target }

  func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    var request = request
    request.url = request.url.replacing("https://id.example.org", with: target)
    return try await base.send(request)
  }
  func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    try await base.open(request)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `An app's own pages with accounts of a provider` {
  private static let here = ["Origin": Forum.url, "Sec-Fetch-Site": "same-origin"]

  @Test func `sign a browser in, serve it, and sign it out here and there`() async throws {
    try await Forum.run { forum in
      let (browser, accounts) = (Browser(forum.base), Browser(forum.provider.client.base))
      #expect(try await browser.get("/").text == "anyone may read this")
      #expect(try await browser.get("/notes").status == 401, "a script gets no redirect")
      let back = try await forum.signIn(browser, at: accounts)
      #expect(back.location == "/notes?a=b")
      for cookie in back.all("set-cookie") {
        #expect(cookie.hasPrefix("__Host-") && cookie.contains("; Path=/; Secure; HttpOnly; SameSite=Lax"))
      }
      #expect(browser.cookies["__Host-handstamp-with-own"] == nil, "the attempt is over")
      #expect(try await browser.get("/notes").text == "the notes of Ada")

      let cookies = browser.cookies
      let signedOut = try await browser.post("/sign-out", [], headers: Self.here)
      #expect(signedOut.status == 303 && signedOut.fields["id_token_hint"] != nil)
      let there = try await accounts.get(try Forum.path(signedOut.location))
      #expect(there.status == 303 && there.location?.hasPrefix(Forum.url + "/") == true)
      #expect(try await accounts.get("/device").title == "Sign in", "the provider has signed the browser out")
      browser.cookies = cookies
      #expect(try await browser.get("/notes").status == 401, "a copy of the cookies is worth nothing")
    }
  }

  @Test func `ask a browser to sign in anew if the provider has ended its sign-in meanwhile`() async throws {
    try await Forum.run { forum in
      let (browser, now) = (Browser(forum.base), forum.provider.clock.now)
      let back = try await forum.callback(
        of: "/sign-in/with/own?next=%2Fnotes", browser, at: Browser(forum.provider.client.base))
      let end = UpstreamEnd(
        issuer: "https://id.example.org", subject: forum.ada.account, sid: nil, at: now.advanced(by: .seconds(30)),
        event: "e", provider: "Our accounts")
      _ = try await forum.registry.endSessions(upstream: end, now: now)
      forum.provider.clock.advance(by: .seconds(1))
      let again = try await browser.get(back)
      #expect(again.status == 303 && again.fields["max_age"] == "0")
      let (accounts, page) = (Browser(forum.provider.client.base), try Forum.path(again.location))
      let signedIn = try await accounts.press(
        "sign-in", on: try await accounts.get(page), at: page,
        [("email", "ada@example.org"), ("password", TestServer.password)])
      let there = try await accounts.get(try Forum.path(signedIn.location))
      let answer = try await browser.get(try Forum.path(there.location))
      #expect(answer.location == "/notes")
      #expect(try await browser.get("/notes").status == 200)
    }
  }

  @Test func `sign a browser out when the provider does`() async throws {
    try await Forum.run { forum in
      let browser = Browser(forum.base)
      _ = try await forum.signIn(browser, at: Browser(forum.provider.client.base))
      #expect(try await browser.get("/notes").status == 200)
      for token in ["", "a.b.c"] {
        #expect(try await browser.post("/sign-in/with/own/logout", [("logout_token", token)]).status == 400)
      }
      #expect(try await browser.post("/sign-in/with/own/logout", []).status == 400)
      #expect(try await browser.get("/notes").status == 200, "a forged token ends nothing")
      forum.provider.clock.advance(by: .seconds(2))
      let ended = try await forum.provider.client.send("POST", "/v1/sessions/end-others", token: forum.ada.access)
      #expect(ended.status < 300)
      #expect(await forum.wayBack.statuses(1) == [200])
      #expect(try await browser.get("/notes").status == 401)
    }
  }

  @Test func `know a user again, and list a session for each browser`() async throws {
    try await Forum.run { forum in
      var ids: Set<String> = []
      for _ in 0..<2 {
        let browser = Browser(forum.base)
        _ = try await forum.signIn(browser, at: Browser(forum.provider.client.base))
        ids.insert(try await browser.post("/notes", [], headers: Self.here).text)
      }
      let account = try #require(ids.first)
      #expect(ids.count == 1 && account.hasPrefix("acc_"))
      let sessions = try await forum.registry.sessions(of: AccountID(account), now: forum.provider.clock.now)
      #expect(sessions.count == 2)
    }
  }

  @Test func `take changes from their own origin alone`() async throws {
    try await Forum.run { forum in
      let browser = Browser(forum.base)
      _ = try await forum.signIn(browser, at: Browser(forum.provider.client.base))
      for headers in [
        [:], ["Origin": "https://evil.example"], ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"],
        ["Origin": "null", "Sec-Fetch-Site": "cross-site"],
      ] {
        #expect(try await browser.post("/notes", [], headers: headers).status == 403)
        #expect(try await browser.post("/sign-out", [], headers: headers).status == 403)
      }
      #expect(try await browser.post("/notes", [], headers: Self.here).status == 200)
      // A link on another site.
      #expect(try await browser.get("/notes", headers: ["Sec-Fetch-Site": "cross-site"]).status == 200)
    }
  }

  @Test func `refuse a replayed response, and that of another browser`() async throws {
    try await Forum.run { forum in
      let (browser, accounts) = (Browser(forum.base), Browser(forum.provider.client.base))
      let callback = try await forum.callback(of: "/sign-in/with/own", browser, at: accounts)
      let attempt = browser.cookies
      let stranger = Browser(forum.base)
      _ = try await stranger.get("/sign-in/with/own")
      for victim in [stranger, Browser(forum.base)] {
        #expect(try await victim.get(callback).location == "/?error=upstream_invalid")
        #expect(try await victim.get("/notes").status == 401)
      }
      #expect(try await browser.get(callback).location == "/")
      #expect(try await browser.get(callback).location == "/?error=upstream_invalid")
      // The code was used, whatever the browser kept.
      let thief = Browser(forum.base)
      thief.cookies = attempt
      #expect(try await thief.get(callback).location == "/?error=upstream_refused")
      #expect(try await thief.get("/notes").status == 401)
    }
  }

  @Test(arguments: ["//evil.example", "/\\evil.example", "https://evil.example", "javascript:alert(1)", "notes"])
  func `send browsers to no other site`(next: String) async throws {
    try await Forum.run { forum in
      let (browser, accounts) = (Browser(forum.base), Browser(forum.provider.client.base))
      let page = "/sign-in/with/own?next=" + Browser.escaped(next)
      let callback = try await forum.callback(of: page, browser, at: accounts)
      #expect(try await browser.get(callback).location == "/")
    }
  }

  @Test func `give accounts to those alone whom their operator wants`() async throws {
    for policy in [UpstreamProvider.SignUp.invited, .domains(["example.org"])] {
      try await Forum.run {
        $0.signUp = policy
      } body: { forum in
        let browser = Browser(forum.base)
        // The provider has not verified the address.
        let back = try await forum.signIn(browser, at: Browser(forum.provider.client.base))
        #expect(back.location == "/?error=sign_up_closed" && browser.cookies["__Host-handstamp-session"] == nil)
      }
    }
  }

  @Test func `do not start with settings that cannot work`() throws {
    var random = SystemRandomNumberGenerator()
    let registry = Registry(
      store: MemoryRegistryStore(), mint: TokenMint(try MasterKeys(drawing: KeyID("k1"), from: &random)))
    for (id, issuer, url) in [
      ("Own", "https://id.example.org", Forum.url), ("own", "http://id.example.org", Forum.url),
      ("own", "https://id.example.org", Forum.url + "/"), ("own", "https://id.example.org", "http://forum.example.org"),
    ] {
      #expect(throws: ServerConfigurationError.self) {
        try OpenIDSignIn(
          UpstreamProvider(id: id, name: "Own", issuer: issuer, clientID: "forum"), url: url, registry: registry,
          transport: PatientTransport())
      }
    }
  }
}
#endif
