#if Programs
import CryptoExtras
import Foundation
import HandstampCore
import HandstampJOSE
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `An end that a provider announces` {
  /// Our own server is the provider: its notifier tells the other server.
  @Test func `by a back-channel logout ends the browser that had signed in there`() async throws {
    try await ProviderPair.run { pair async throws in
      let ada = try await pair.person("ada@example.org")
      let (browser, other) = (pair.browser, pair.browser)
      _ = try await pair.signIn("ada@example.org", browser)
      let account = try #require(try await pair.account(of: browser))
      pair.test.clock.advance(by: .seconds(2))
      let ended = try await pair.provider.client.send("POST", "/v1/sessions/end-others", token: ada.access)
      #expect(ended.status < 300)
      #expect(await pair.wayBack.statuses(1) == [200])
      #expect(try await pair.account(of: browser) == nil)
      let rows = try await pair.registry.store.sessions(of: account)
      #expect(rows.isEmpty || rows.allSatisfy { $0.end?.reason == .endedAtProvider() })
      #expect(try await browser.get("/sign-in").text.contains("You were signed out at Work."))
      #expect(try await !other.get("/sign-in").text.contains("signed out at"), "another browser")
      #expect(pair.test.metrics.upstreamEnds == 1)
      // The next sign-in is another session there.
      pair.test.clock.advance(by: .seconds(2))
      _ = try await pair.signIn("ada@example.org", other)
      #expect(try await pair.account(of: other) == account)
      let page = try await other.get("/account/activity")
      #expect(page.text.contains("ended at Work"))
    }
  }

  @Test func `finds no notes of an account that was deleted`() async throws {
    try await ProviderPair.run { pair async throws in
      _ = try await pair.person("ada@example.org")
      let browser = pair.browser
      _ = try await pair.signIn("ada@example.org", browser)
      let account = try #require(try await pair.account(of: browser))
      func notes() async throws -> [StoredItem] {
        try await pair.test.store.items(.upstreamSession, after: nil, limit: 9)
      }
      #expect(try await !notes().isEmpty)
      _ = try await pair.test.server.administration(by: .machineUser("bob")).delete(account)
      #expect(try await notes().allSatisfy { $0.payload.isEmpty })
      await Sweeper(server: pair.test.server).sweep()
      #expect(try await notes().isEmpty)
    }
  }

  /// The page of the provider that a browser is sent to once more, to sign in anew.
  private func again(_ answer: Browser.BrowserResponse) throws -> String {
    let refresh = try #require(answer.header("refresh"), "\(answer.status) \(answer.title)")
    #expect(refresh.contains("max_age=0"))
    return String(refresh.dropFirst("0; url=".count))
  }

  /// The user comes back by a session there that has outlived the end.
  @Test func `asks a browser to sign in there anew, which then counts`() async throws {
    try await ProviderPair.run { pair async throws in
      let ada = try await pair.person("ada@example.org")
      let browser = pair.browser
      let back = try await pair.visit(try await pair.leave(browser), as: "ada@example.org")
      let end = UpstreamEnd(
        issuer: ProviderPair.issuer, subject: ada.account, sid: nil,
        at: pair.test.clock.now.advanced(by: .seconds(30)), event: "e", provider: "Work")
      _ = try await pair.registry.endSessions(upstream: end, now: pair.test.clock.now)
      pair.test.clock.advance(by: .seconds(1))
      let url = try again(try await browser.get(back))
      #expect(try await pair.account(of: browser) == nil)
      let answer = try await browser.get(try await pair.visit(url, as: "ada@example.org"))
      #expect(answer.status == 303)
      #expect(try await pair.account(of: browser) != nil)
    }
  }

  /// The browser is on its way back when the user is disabled at the provider.
  @Test func `stops a sign-in in a browser that is under way`() async throws {
    try await ProviderPair.run { pair async throws in
      let ada = try await pair.person("ada@example.org")
      let browser = pair.browser
      let back = try await pair.visit(try await pair.leave(browser), as: "ada@example.org")
      let end = UpstreamEnd(
        issuer: ProviderPair.issuer, subject: ada.account, sid: nil, change: .disabled, at: pair.test.clock.now,
        event: "e", provider: "Work")
      _ = try await pair.registry.endSessions(upstream: end, now: pair.test.clock.now)
      let url = try again(try await browser.get(back))
      pair.test.clock.advance(by: .seconds(1))
      let answer = try await browser.get(try await pair.visit(url, as: "ada@example.org"))
      #expect(answer.status == 403 && answer.title == "This sign-in has ended")
      #expect(try await pair.account(of: browser) == nil)
      #expect(try await pair.registry.account(identity: pair.identity(ada)) == nil, "nor does an account begin")
    }
  }

  @Test func `reaches devices, and the verifiers of other services, with its reason`() async throws {
    let clients = try TestServer.clients()
    try await Announcer.run({ configuration, _ in configuration.clients = clients }) { test, up async throws in
      let (one, two) = (try await test.begin(), try await test.begin("laptop", sid: "s2"))
      let unused = test.token(of: try await test.beginUnused("tv"))
      let stream = try await WireStream(test.client, token: one.access)
      _ = try await stream.next()
      let feed = try await FeedStream(test)
      _ = try await feed.complete()
      #expect(try await test.logout(up.logout(at: test.clock.now).text()).status == 200)
      let event = try #require(try await stream.next())
      #expect(event.name == "session-revoked" && event.json["reason"] == "ended_at_provider")
      #expect(event.json["provider"] == "Up")
      let told = try #require(try await feed.complete())
      #expect(told.sessions.keys.contains(one.id.rawValue) && !told.sessions.keys.contains(two.id.rawValue))
      #expect(try await test.end(of: one.access) == "ended_at_provider")
      #expect(try await test.client.get("/v1/me", token: one.access).json["provider"] == "Up")
      let refused = try await test.refresh(unused, key: .fresh).json
      #expect(refused["error"] == "invalid_grant" && refused["reason"] == "ended_at_provider")
      #expect(refused["provider"] == "Up")
      #expect(try await test.end(of: two.access) == nil)
      #expect(try await test.client.get("/v1/me", token: two.access).status == 200)
    }
  }

  @Test(arguments: ["/", ""])
  func `is about users under the provider's own spelling of its issuer`(slash: String) async throws {
    try await Announcer.run({ $1.issuer = Announcer.issuer + slash }) { test, up async throws in
      let one = try await test.begin()
      var logout = up.logout(at: test.clock.now)
      logout.claims["iss"] = #""\#(Announcer.issuer)/""#
      #expect(try await test.logout(logout.text()).status == 200)
      #expect(try await test.end(of: one.access) == "ended_at_provider")
    }
  }

  private static let subject = #""format":"complex","session":{"format":"opaque","id":"s1"}"#

  @Test(arguments: SecurityEventType.allCases)
  func `by an event is applied as its type says`(type: SecurityEventType) async throws {
    try await Announcer.run { test, up async throws in
      let (one, two) = (try await test.begin(), try await test.begin("laptop", sid: "s2"))
      #expect(try await test.push(up.event(Announcer.event(type), at: test.clock.now).text()).status == 202)
      let ends: [SecurityEventType] = [.sessionRevoked, .credentialCompromise, .accountDisabled, .accountPurged]
      for session in [one, two] {
        #expect(try await test.end(of: session.access) == (ends.contains(type) ? "ended_at_provider" : nil), "\(type)")
      }
      test.clock.advance(by: .seconds(2))
      let isOut = [.accountDisabled, .accountPurged].contains(type)
      do {
        _ = try await test.begin("tablet", sid: "s3")
        #expect(!isOut, "\(type)")
      } catch RegistryError.upstreamEnded { #expect(isOut, "\(type)") }
      guard type == .accountDisabled else { return }
      let again = up.event(Announcer.event(.accountEnabled), at: test.clock.now)
      #expect(try await test.push(again.text()).status == 202)
      test.clock.advance(by: .seconds(2))
      _ = try await test.begin("tablet", sid: "s3")
    }
  }

  @Test func `about one session leaves the others`() async throws {
    try await Announcer.run { test, up async throws in
      let (one, two) = (try await test.begin(), try await test.begin("laptop", sid: "s2"))
      let user = #""user":{"format":"iss_sub","iss":"\#(Announcer.issuer)","sub":"ada"}"#
      let event = up.event(Announcer.event(.sessionRevoked), at: test.clock.now)
      #expect(try await test.push(event.text(["sub_id": "{\(Self.subject),\(user)}"])).status == 202)
      #expect(try await test.end(of: one.access) == "ended_at_provider")
      #expect(try await test.end(of: two.access) == nil)
      // The subject in the event, as drafts have it, and opaque.
      let draft = up.event(
        Announcer.event(.sessionRevoked, #""subject":{"format":"opaque","id":"ada"}"#), at: test.clock.now)
      #expect(try await test.push(draft.text(["sub_id": ""])).status == 202)
      #expect(try await test.end(of: two.access) == "ended_at_provider")
    }
  }

  @Test func `about others, or by an address, ends nothing and is counted`() async throws {
    try await Announcer.run { test, up async throws in
      let one = try await test.begin()
      let subjects = [
        #"{"format":"iss_sub","iss":"\#(Announcer.issuer)","sub":"eve"}"#,
        #"{"format":"iss_sub","iss":"https://other.example","sub":"ada"}"#,
        #"{"format":"email","email":"ada"}"#,
        #"{"format":"complex","user":{"format":"email","email":"a@b.example"},"session":{"format":"opaque","id":"s1"}}"#,
        #"{"format":"opaque","id":"\#(String(repeating: "a", count: 300))"}"#,
      ]
      for subject in subjects {
        let event = up.event(Announcer.event(.sessionRevoked), at: test.clock.now)
        #expect(try await test.push(event.text(["sub_id": subject])).status == 202, "\(subject)")
      }
      let other = #"{"https://schemas.openid.net/secevent/caep/event-type/token-claims-change":{}}"#
      let unknown = up.event(other, at: test.clock.now)
      #expect(try await test.push(unknown.text()).status == 202)
      #expect(try await test.end(of: one.access) == nil)
      #expect(test.metrics.upstreamUnknown == 1 && test.metrics.upstreamEnds == 0)
    }
  }

  @Test func `has no effect when it comes again`() async throws {
    try await Announcer.run { test, up async throws in
      _ = try await test.begin()
      let event = up.event(Announcer.event(.sessionRevoked), at: test.clock.now).text()
      #expect(try await test.push(event).status == 202)
      test.clock.advance(by: .seconds(5))
      let new = try await test.begin("phone", sid: "s2")
      #expect(try await test.push(event).status == 202)
      #expect(try await test.end(of: new.access) == nil)
      #expect(test.metrics.upstreamRepeats == 1)
    }
  }

  @Test func `is confirmed only once it is stored`() async throws {
    try await Announcer.run { test, up async throws in
      let one = try await test.begin()
      let event = up.event(Announcer.event(.sessionRevoked), at: test.clock.now).text()
      test.store.fail(.writes)
      #expect(try await test.push(event).status == 503)
      test.store.fail(.none)
      #expect(try await test.push(event).status == 202)
      #expect(try await test.end(of: one.access) == "ended_at_provider")
    }
  }

  @Test func `waits for the provider's keys`() async throws {
    try await Announcer.run { test, up async throws in
      _ = try await test.begin()
      up.transport.answer("GET /keys", status: 503, json: "{}")
      let event = up.event(Announcer.event(.sessionRevoked), at: test.clock.now).text()
      #expect(try await test.push(event).status == 503)
      let line = try #require(test.logs.lines.first { $0.contains("Keys of a provider unavailable") })
      #expect(line.contains("handstamp.issuer") && line.contains(Announcer.issuer), "names the one that it is about")
      up.transport.answer("GET /keys", json: up.key.jwks)
      test.clock.advance(by: KeySet.pause)
      #expect(try await test.push(event).status == 202)
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A forged end` {
  private func isIntact(_ test: TestServer, _ session: (id: SessionID, access: String)) async throws -> Bool {
    try await test.client.get("/v1/me", token: session.access).status == 200
  }

  @Test func `that is pushed is refused with its error, and ends nothing`() async throws {
    try await Announcer.run { test, up async throws in
      let one = try await test.begin()
      let now = test.clock.now
      let good = up.event(Announcer.event(.sessionRevoked), at: now)
      let stranger = SignedAssertion(of: Announcer.issuer, by: .es256(), at: now)
      var other = good
      other.key = stranger.key
      let cases: [(String, String, String)] = [
        ("unsigned", good.unsigned, "invalid_request"),
        ("HS256", good.text(maskedBy: up.key.jwks), "invalid_request"),
        ("another key", other.text(), "invalid_key"),
        ("unknown key", good.text(header: ["kid": #""other""#]), "invalid_key"),
        ("without kid", good.text(header: ["kid": ""]), "invalid_key"),
        ("issuer", good.text(["iss": #""https://other.example""#]), "invalid_issuer"),
        ("audience", good.text(["aud": #""other""#]), "invalid_audience"),
        ("no audience", good.text(["aud": ""]), "invalid_audience"),
        ("access token's typ", good.text(header: ["typ": #""at+jwt""#]), "invalid_request"),
        ("ID token's typ", good.text(header: ["typ": #""JWT""#]), "invalid_request"),
        ("logout token", up.logout(at: now).text(), "invalid_request"),
        ("no typ", good.text(header: ["typ": ""]), "invalid_request"),
        ("old", good.text(["iat": "\(now.seconds - 8 * 86_400)"]), "invalid_request"),
        ("future", good.text(["iat": "\(now.seconds + 600)"]), "invalid_request"),
        ("no iat", good.text(["iat": ""]), "invalid_request"),
        ("expired", good.text(["exp": "\(now.seconds - 600)"]), "invalid_request"),
        ("no jti", good.text(["jti": ""]), "invalid_request"),
        ("long jti", good.text(["jti": "\"\(String(repeating: "j", count: 300))\""]), "invalid_request"),
        ("no events", good.text(["events": ""]), "invalid_request"),
        ("events a list", good.text(["events": "[]"]), "invalid_request"),
        ("nonce", good.text(["nonce": #""n""#]), "invalid_request"),
        ("crit", good.text(header: ["crit": #"["exp"]"#]), "invalid_request"),
        ("own key", good.text(header: ["jwk": "{}"]), "invalid_request"),
        ("two more parts", good.text() + ".a.b", "invalid_request"),
        ("no token", "{}", "invalid_request"), ("empty", "", "invalid_request"),
        ("huge", String(repeating: "a", count: 9000) + ".b.c", "invalid_request"),
      ]
      for (name, token, error) in cases {
        let answer = try await test.push(token)
        #expect(answer.status == 400 && answer.json["err"] == error, "\(name): \(answer.status) \(answer.text)")
        if !token.isEmpty, token != "{}" { #expect(!answer.text.contains(token.prefix(40)), "\(name)") }
      }
      #expect(test.metrics.upstreamRefusals == cases.count)
      #expect(try await isIntact(test, one))
      let logged = test.logs.lines.joined(separator: "\n")
      #expect(logged.contains("Event of a provider refused") && !logged.contains(good.text().prefix(60)))
      #expect(try await test.push(good.text()).status == 202, "the good one counts")
      #expect(try await !isIntact(test, one))
    }
  }

  @Test func `that comes as a logout token is refused, and ends nothing`() async throws {
    try await Announcer.run { test, up async throws in
      let one = try await test.begin()
      let now = test.clock.now
      let good = up.logout(at: now)
      let identity = [
        "nonce": #""n-0S6_WzA2Mj""#, "auth_time": "\(now.seconds)", "events": "", "jti": "",
        "exp": "\(now.seconds + 600)",
      ]
      let cases: [(String, String)] = [
        ("unsigned", good.unsigned), ("HS256", good.text(maskedBy: up.key.jwks)),
        ("an ID token", good.text(identity, header: ["typ": #""JWT""#])),
        ("an ID token with jti", good.text(identity.merging(["jti": #""x""#]) { $1 }, header: ["typ": #""JWT""#])),
        ("audience", good.text(["aud": #""other""#])),
        ("this server as audience", good.text(["aud": #""\#(Browser.issuer)""#])),
        ("issuer", good.text(["iss": #""https://other.example""#])),
        ("access token's typ", good.text(header: ["typ": #""at+jwt""#])),
        ("event", up.event(Announcer.event(.sessionRevoked), at: now).text()),
        ("old", good.text(["iat": "\(now.seconds - 7200)"])), ("expired", good.text(["exp": "\(now.seconds - 61)"])),
        ("no events", good.text(["events": ""])),
        ("another event", good.text(["events": Announcer.event(.accountPurged)])),
        ("event not an object", good.text(["events": #"{"http://schemas.openid.net/event/backchannel-logout":1}"#])),
        ("nonce", good.text(["nonce": #""n""#])), ("no jti", good.text(["jti": ""])),
        ("no subject", good.text(["sub": "", "sid": ""])),
      ]
      for (name, token) in cases {
        let answer = try await test.logout(token)
        #expect(answer.status == 400 && answer.json["error"] == "invalid_request", "\(name): \(answer.status)")
      }
      #expect(try await isIntact(test, one))
      #expect(try await test.logout(good.text()).status == 200)
      #expect(try await !isIntact(test, one))
    }
  }

  /// The provider's clock agrees with one of them.
  @Test(arguments: [480, -480, 8 * 3600, -8 * 3600]) func `is applied while this server's clock is doubted`(
    ahead: Int64
  ) async throws {
    try await Announcer.run { test, up async throws in
      let (one, two) = (try await test.begin(), try await test.begin("laptop", sid: "s2"))
      test.clock.jump(by: .seconds(ahead))
      for time in [test.clock.now, test.server.now()] {
        #expect(try await test.logout(up.logout(at: time).text()).status == 200)
        let event = up.event(Announcer.event(.sessionRevoked), at: time)
        #expect(try await test.push(event.text()).status == 202)
      }
      #expect(try await test.end(of: one.access) == "ended_at_provider")
      #expect(try await test.end(of: two.access) == "ended_at_provider")
      for time in [
        max(test.clock.now, test.server.now()).advanced(by: .seconds(120)),
        min(test.clock.now, test.server.now()).advanced(by: .seconds(-7200)),
      ] {
        #expect(try await test.logout(up.logout(at: time).text()).status == 400)
      }
    }
  }

  @Test func `of another kind, size or address of the server is refused`() async throws {
    try await Announcer.run { test, up async throws in
      let good = up.event(Announcer.event(.sessionRevoked), at: test.clock.now).text()
      #expect(try await test.push(good, type: "application/jwt").status == 415)
      #expect(try await test.push(#"{"payload":"\#(good)"}"#, type: "application/json").status == 415)
      #expect(try await test.push(String(repeating: "a", count: 5 << 20)).status == 413)
      let other = try await test.client.send(
        "POST", "/sign-in/with/other/events", headers: ["Content-Type": "application/secevent+jwt"],
        body: Array(good.utf8))
      #expect(other.status == 404)
      #expect(try await test.client.post("/sign-in/with/up/logout", form: "other=1").status == 400)
    }
  }

  @Test func `is limited by the sender's address`() async throws {
    try await Announcer.run({ configuration, _ in
      configuration.limits[.clientFailures] = ServerLimits.Rule(perAddress: RateLimit(burst: 2, every: .seconds(60)))
    }) { test, up async throws in
      let one = try await test.begin()
      #expect(try await test.push("a.b.c").status == 400)
      #expect(try await test.push("a.b.c").status == 400)
      #expect(try await test.push("a.b.c").status == 429)
      // Genuine ones are not.
      #expect(try await test.push(up.event(Announcer.event(.sessionRevoked), at: test.clock.now).text()).status == 202)
      #expect(try await test.end(of: one.access) == "ended_at_provider")
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A notification of Apple's` {
  private static func token(_ event: String, at now: UnixTime, _ more: String = "") -> String {
    let quoted = event.replacing("\"", with: "\\\"")
    let id = UInt64.random(in: 0 ... .max)
    let claims =
      #"{"iss":"\#(AppleStub.issuer)","aud":"\#(AppleStub.clientID)","iat":\#(now.seconds),"#
      + #""jti":"a-\#(id)","events":"\#(quoted)"\#(more)}"#
    let body =
      Base64URL.encode(Array(#"{"alg":"RS256","kid":"one"}"#.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
    let signature = try? AppleStub.keys["one"]?.signature(for: Array(body.utf8), padding: .insecurePKCS1v1_5)
    return body + "." + (signature.map { Base64URL.encode($0.rawRepresentation) } ?? "")
  }

  private func send(_ token: String, _ test: TestServer) async throws -> Int {
    try await test.client.post("/sign-in/with/apple/events", json: #"{"payload":"\#(token)"}"#).status
  }

  @Test(arguments: ["consent-revoked", "account-delete", "email-disabled", "email-enabled"])
  func `ends the sessions of a user who has left, and no others`(type: String) async throws {
    try await AppleStub.run { _, url in
      let apple = AppleSignIn(
        clientIDs: [AppleStub.clientID], issuer: AppleStub.issuer, keysURL: url, transport: PatientTransport())
      try await Announcer.run(apple: apple) { test, _ async throws in
        let ada = try await test.begin(sid: nil, as: "001.ada", at: AppleStub.issuer)
        let eve = try await test.begin("tablet", sid: nil, as: "001.eve", at: AppleStub.issuer)
        let event =
          #"{"type":"\#(type)","sub":"001.ada","event_time":\#(test.clock.now.milliseconds),"email":"x@example.org"}"#
        #expect(try await send(Self.token(event, at: test.clock.now), test) == 202)
        #expect(try await test.end(of: ada.access) == (type.hasPrefix("email") ? nil : "ended_at_provider"))
        #expect(try await test.end(of: eve.access) == nil)
        // The same claims as an event, with a nonce, and by no key of Apple's.
        #expect(try await send(Self.token(event, at: test.clock.now, #","nonce":"n""#), test) == 400)
        #expect(try await send(Self.token(event, at: test.clock.now) + "x", test) == 400)
      }
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `Events that a provider keeps` {
  /// Answers polls with what is left, until it is acknowledged.
  private final class Mailbox: Transport {
    private struct State {
      var left: [String: String] = [:]
      var requests: [TransportRequest] = []
    }

    private let base: ScriptedTransport
    private let state = Watched(State())

    init(_ base: ScriptedTransport) { self.base = base }

    func put(_ tokens: [String: String]) { state.change { $0.left = tokens } }

    func requests(_ count: Int) async -> [TransportRequest] {
      await state.wait { $0.requests.count >= count }.requests
    }

    func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
      guard request.url.hasSuffix("/poll") else { return try await base.send(request) }
      let json = JSONValue(request.body)
      let body = state.change { state in
        state.requests.append(request)
        for id in json?["ack"]?.array?.compactMap(\.string) ?? [] { state.left[id] = nil }
        if case .object(let errors)? = json?["setErrs"] { for id in errors.keys { state.left[id] = nil } }
        return JSONValue.object(["sets": .object(state.left.mapValues { JSONValue.string($0) })])
      }
      var bytes: [UInt8] = []
      body.append(to: &bytes)
      return TransportResponse(status: 200, headers: [], body: bytes)
    }

    func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
      throw .invalidRequest("no streams")
    }
  }

  @Test func `are fetched, applied, and acknowledged afterwards; bad ones are reported`() async throws {
    let up = Announcer()
    let mailbox = Mailbox(up.transport)
    try await TestServer.run(transport: mailbox) {
      var provider = UpstreamProvider(id: "up", name: "Up", issuer: Announcer.issuer, clientID: "forum")
      provider.polling = UpstreamPolling(endpoint: Announcer.issuer + "/poll", token: Secret("a bearer token"))
      $0.providers = [provider]
    } body: { test async throws in
      let (one, two) = (try await test.begin(), try await test.begin("laptop", sid: "s2"))
      let now = test.clock.now
      let before = await mailbox.requests(1).count
      let event = Announcer.event(.sessionRevoked)
      let other = #"{"format":"complex","session":{"format":"opaque","id":"s2"}}"#
      let first = #"{"format":"complex","session":{"format":"opaque","id":"s1"}}"#
      mailbox.put([
        "good": up.event(event, at: now, id: "good").text(["sub_id": first]),
        "named": up.event(event, at: now, id: "another").text(["sub_id": other]),
        "bad": up.event(event, at: now, id: "bad").unsigned,
      ])
      // The first request after the tokens gets them, the one after that acknowledges.
      let requests = await mailbox.requests(before + 3)
      #expect(try await test.end(of: one.access) == "ended_at_provider")
      let bodies = requests.compactMap { JSONValue($0.body) }
      let told = try #require(bodies.first { $0["ack"]?.array?.isEmpty == false })
      #expect(told["ack"]?.array?.compactMap(\.string) == ["good"])
      #expect(told["setErrs"]?["bad"]?["err"]?.string == "invalid_request")
      #expect(told["setErrs"]?["named"]?["err"]?.string == "invalid_request")
      #expect(try await test.end(of: two.access) == nil, "what is reported as refused is not applied")
      #expect(
        requests.allSatisfy {
          $0.headers.contains { $0.name == "Authorization" && $0.value == "Bearer a bearer token" }
        })
      #expect(!test.logs.lines.joined().contains("a bearer token"))
    }
  }
}
#endif
