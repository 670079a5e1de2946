#if Programs
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampTesting
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A refused sign-in` {
  private func refusals(_ test: TestServer) async throws -> [AuditedAction] {
    try await test.server.registry.auditedActions(limit: 1000).map(\.audited)
      .filter { $0.action == AuditedAction.Kind.signInRefused.rawValue }
  }

  @Test func `is in the audit log, with its way and place, once a minute`() async throws {
    try await TestServer.run { test in
      _ = try await test.signUp()
      let browser = Browser(test.client.base)
      let code = String(repeating: "0000-", count: 6).dropLast().description
      for email in ["ada@example.org", "ada@example.org", "eve@example.org"] {
        _ = try await browser.fill("/recover", "recover", [("email", email), ("recovery_code", code)])
      }
      let found = try await refusals(test)
      #expect(found.map { $0.account != nil } == [true, false])
      #expect(found.allSatisfy { $0.details == #"{"way":"recovery_code","reason":"unknown","count":"1"}"# }, "\(found)")
      #expect(found.allSatisfy { $0.address == "127.0.0.1" })
      // The rest is told without another attempt.
      test.clock.advance(by: .seconds(61))
      #expect(await eventually { (try? await refusals(test).count) == 3 })
      let (first, rest) = (try #require(found.first), try #require(try await refusals(test).last))
      #expect(rest.details == first.details && rest.account == first.account && rest.address == "127.0.0.1")
    }
  }

  @Test func `is summed up over all doors, also when the settings change, and told at the latest at the end`()
    async throws
  {
    try await TestServer.run(mailer: Post()) { test in
      func attempt(_ path: String) async throws {
        let device = #"{"id":"d","name":"d","platform":"p"}"#
        let passwords = #""new_password":"x long enough","password":"x long enough""#
        let answer = try await test.client.post(
          path, json: #"{"token":"hsl1.x",\#(passwords),"device":\#(device)}"#)
        #expect(answer.status == 400)
      }
      for path in ["/v1/password-reset/confirm", "/v1/sign-up/confirm", "/v1/password-reset/confirm"] {
        try await attempt(path)
      }
      try await test.server.reload(
        test.server.configuration, registry: test.server.registry, keys: test.keys, mailer: Post())
      try await attempt("/v1/sign-up/confirm")
      #expect(try await refusals(test).count == 1)
      await RefusalTeller(server: test.server).tell(isEnd: true)
      let found = try await refusals(test).map(\.details)
      #expect(found.count == 2 && found.last == #"{"way":"mailed_code","reason":"unknown","count":"3"}"#, "\(found)")
    }
  }

  @Test(arguments: ["/v1/password-reset/confirm", "/v1/sign-up/confirm"])
  func `by a code that was not mailed is in the audit log`(path: String) async throws {
    try await TestServer.run(mailer: Post()) { test in
      for token in ["hsl1.nothing", "hsl1.k1." + String(repeating: "A", count: 43)] {
        let device = #"{"id":"d","name":"d","platform":"p"}"#
        let answer = try await test.client.post(
          path,
          json: #"{"token":"\#(token)","new_password":"x long enough","password":"x long enough","device":\#(device)}"#)
        #expect(answer.status == 400)
      }
      let found = try await refusals(test)
      #expect(found.map(\.details) == [#"{"way":"mailed_code","reason":"unknown","count":"1"}"#], "once a minute")
      #expect(found.first?.address == "127.0.0.1")
    }
  }

  @Test func `is shown to its owner as what it was`() async throws {
    try await TestServer.run { test in
      _ = try await test.signUp()
      let owner = try await Browser.signedIn(test)
      let code = String(repeating: "0000-", count: 6).dropLast().description
      _ = try await Browser(test.client.base).fill(
        "/recover", "recover", [("email", "ada@example.org"), ("recovery_code", code)])
      let page = try await owner.get("/account/activity").text
      #expect(page.contains("A sign-in was refused") && !page.contains("wrong password"))
      let wrong = TestServer.signInBody("ada@example.org", password: "wrong password")
      _ = try await test.client.post("/v1/sign-in", json: wrong)
      #expect(try await owner.get("/account/activity").text.contains("Sign-in with a wrong password"))
    }
  }

  @Test func `to a disabled account with the right password is in the audit log`() async throws {
    try await TestServer.run { test in
      _ = try await test.signUp()
      let email = try #require(EmailAddress("ada@example.org"))
      let record = try #require(try await test.server.registry.account(email: email))
      _ = try await test.server.registry.closeAccount(record, now: test.server.now())
      _ = try await test.client.post("/v1/sign-in", json: TestServer.signInBody("ada@example.org"))
      let found = try await refusals(test)
      #expect(found.map(\.details) == [#"{"way":"password","reason":"account_disabled"}"#])
      #expect(found.first?.account == record.id)
    }
  }

  @Test func `is summed up also when places are many`() {
    let refusals = Tallies<String>(interval: .seconds(60))
    let now = UnixTime(seconds: 1_800_000_000)
    #expect(refusals.count("a", at: now) == 1)
    for _ in 0..<7 { #expect(refusals.count("a", at: now) == nil) }
    #expect(refusals.count("b", at: now) == 1)
    #expect(refusals.count("a", at: now.advanced(by: .seconds(61))) == 8)
    // A clock that was set back silences nothing.
    #expect(refusals.count("a", at: now) == 1)
    // Nor do many kinds at once make it forget what it has to tell.
    for _ in 0..<4 { #expect(refusals.count("a", at: now) == nil) }
    for number in 0..<10_000 { #expect(refusals.count("\(number)", at: now) == 1) }
    #expect(refusals.rest(at: now).isEmpty)
    let rest = refusals.rest(at: now.advanced(by: .seconds(60)))
    #expect(rest.map { "\($0.kind) \($0.count)" } == ["a 4"])
    #expect(refusals.rest(at: now, isEnd: true).isEmpty)
  }

  @Test func `and any other refusal has a line in the log, with the client's address`() async throws {
    try await TestServer.run { test in
      for _ in 0..<3 {
        let answer = try await test.client.get("/v1/me", token: "wrong")
        #expect(answer.headers["content-security-policy"]?.contains("frame-ancestors 'none'") == true)
      }
      _ = try await test.client.post("/oauth/token", form: "grant_type=refresh_token&refresh_token=x&client_id=unknown")
      let lines = test.logs.text.split(separator: "\n").filter { $0.contains("Request refused") }
      #expect(lines.count == 2, "\(lines)")
      #expect(lines.allSatisfy { $0.contains("127.0.0.1") } && lines.contains { $0.contains("/v1/me") })
      await RefusalTeller(server: test.server).tell(isEnd: true)
      #expect(test.logs.entries.last { $0.metadata["http.route"] == "/v1/me" }?.metadata["handstamp.count"] == "2")
    }
  }

  @Test func `is exported in CEF as one line, whatever is in it`() {
    let entry = StoredAuditedAction(
      id: 7,
      audited: AuditedAction(
        at: UnixTime(milliseconds: 1_800_000_000_123), action: "a|b", actor: "admin:x=y\\z\nw", account: "ada",
        session: SessionID("s"), address: "2001:db8::1", details: "{\"a\":\"b=\u{200D}c\"}"))
    let line = String(decoding: entry.cefLine, as: UTF8.self)
    #expect(
      line == #"""
        CEF:0|Handstamp|server|1|a\|b|a\|b|3|rt=1800000000123 externalId=7 suser=admin:x\=y\\z\nw duid=ada \#
        c6a2Label=source address c6a2=2001:db8::1 cs1Label=session cs1=s cs2Label=details cs2={"a":"b\=\#u{200D}c"}
        """#)
    #expect(!line.contains("\n"))
  }
}
#endif
