#if Programs
import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `An imported identity` {
  private static let google = ExternalIdentity(issuer: "https://accounts.google.com", subject: "g1")

  private func line(id: String, _ email: String, isConfirmed: Bool = true, _ identities: String) -> String {
    let time = isConfirmed ? #""2024-03-01 10:20:30+00""# : "null"
    return #"{"id":"\#(id)","email":"\#(email)","email_confirmed_at":\#(time),"identities":[\#(identities)]}"# + "\n"
  }

  private let atGoogle =
    #"{"provider":"google","provider_id":"g1","identity_data":{"sub":"g1","email":"ada@elsewhere.example"}}"#

  @Test func `is that of a provider that is known, or that the operator names`() async throws {
    let more = #",{"provider":"email","provider_id":"u1"},{"provider":"github","identity_data":{"sub":"5"}}"#
    let text = line(id: "u1", "ada@example.org", atGoogle + more)
    let stage = try ImportStage()
    let report = try await stage.add(text, from: .gotrue)
    #expect(report.counts == [1, 0, 0, 0] && report.left["identity"]?.count == 1)
    var options = ImportStage.options(.gotrue, merges: true)
    let isAdded = options.addProvider("github=https://github.com")
    #expect(isAdded)
    for wrong in ["", "github", "github=", "=https://github.com", "github=http://github.com", "github=github"] {
      let isAdded = options.addProvider(wrong)
      #expect(!isAdded, "\(wrong)")
    }
    #expect(options.issuers == ["github": "https://github.com"])
    let again = try await stage.administration.importAccounts(text.pieces(1000), options: options)
    #expect(again.counts == [0, 1, 0, 0] && again.left.isEmpty)
    let ada = try #require(try await stage.account("ada@example.org"))
    let links = try await stage.registry.identities(of: ada)
    #expect(Set(links.map(\.identity)) == [Self.google, ExternalIdentity(issuer: "https://github.com", subject: "5")])
    #expect(links.contains { $0.label == "ada@elsewhere.example" })
    #expect(try await stage.administration.importAccounts(text.pieces(1000), options: options).counts == [0, 0, 1, 0])
  }

  @Test func `is read from JSON in a column`() async throws {
    let stage = try ImportStage()
    var options = ImportStage.options(.gotrue)
    options.issuers = ["github": "https://github.com"]
    let text = #"""
      id,email,identities
      u1,ada@example.org,"[{""provider"":""github"",""provider_id"":7,""identity_data"":{""user_name"":""ada""}}]"
      u2,bob@example.org,
      u3,eve@example.org,{github}

      """#
    let report = try await stage.administration.importAccounts(text.pieces(1000), options: options)
    #expect(report.counts == [2, 0, 0, 1] && report.codes == ["4 invalid_field"] && report.left.isEmpty)
    let gitHub = ExternalIdentity(issuer: "https://github.com", subject: "7")
    #expect(try await stage.registry.account(identity: gitHub)?.id == "u1")
  }

  @Test func `leads into an account that is here only if both addresses are confirmed, and no app protects it`()
    async throws
  {
    let stage = try ImportStage()
    try await stage.add(
      #"""
      {"id":"1","email":"ada@example.org","email_verified":true}
      {"id":"2","email":"eve@example.org","email_verified":false}
      {"id":"3","email":"tom@example.org","email_verified":true,"totp":{"secret":"GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"}}
      """#)
    func merge(_ line: String, merges: Bool = true) async throws -> ImportReport {
      try await stage.add(line, from: .gotrue, merges: merges)
    }
    #expect(try await merge(line(id: "u1", "ada@example.org", atGoogle), merges: false).codes == ["1 address_taken"])
    #expect(
      try await merge(line(id: "u1", "ada@example.org", isConfirmed: false, atGoogle)).codes == ["1 address_taken"])
    #expect(try await merge(line(id: "u2", "eve@example.org", atGoogle)).codes == ["1 address_taken"])
    #expect(try await merge(line(id: "u3", "tom@example.org", atGoogle)).counts == [0, 0, 1, 0])
    #expect(try await stage.registry.account(identity: Self.google) == nil)
    #expect(try await merge(line(id: "u1", "ada@example.org", atGoogle)).counts == [0, 1, 0, 0])
    #expect(try await stage.registry.account(identity: Self.google)?.id == "1")
    // It leads to one account, whoever else claims it.
    #expect(try await merge(line(id: "u9", "new@example.org", atGoogle)).codes == ["1 identity_taken"])
    #expect(try await merge(line(id: "u3", "tom@example.org", atGoogle)).counts == [0, 0, 1, 0])
    #expect(try await stage.registry.account(identity: Self.google)?.id == "1")
  }
}

@Suite(.timeLimit(.minutes(10))) struct `An imported second factor` {
  private static let app = #""totp":{"secret":"GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"}"#
  private static let codes = #""recovery_code_hashes":["AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"]"#

  private func line(_ id: String, hash: Bool, _ more: String) -> String {
    let password = #""password_hash":"$2b$06$abcdefghijklmnopqrstuuAbcdefghijklmnopqrstuvwxyzABCDE","#
    return #"{"id":"\#(id)","email":"\#(id)@example.org","email_verified":true,\#(hash ? password : "")\#(more)}"#
      + "\n"
  }

  @Test func `comes with the password, and does not come back`() async throws {
    let stage = try ImportStage()
    let registry = stage.registry
    let whole = line("1", hash: true, Self.app + "," + Self.codes)
    try await stage.add(line("1", hash: false, #""groups":["g"]"#) + line("2", hash: true, Self.codes))
    #expect(try await registry.totp(of: "1") == nil)
    #expect(try await stage.add(whole, merges: true).counts == [0, 1, 0, 0])
    let moved = try #require(try await registry.movingTOTP(of: "1"))
    #expect(moved.secret == TOTPSecret(bytes: Array("12345678901234567890".utf8)))
    #expect(try await registry.recoveryCodesLeft(of: "1") == 1)
    #expect(try await registry.removeTOTP(of: "1", now: ImportStage.now))
    #expect(try await stage.add(whole, merges: true).counts == [0, 0, 1, 0])
    #expect(try await registry.totp(of: "1") == nil)
    // An administrator has removed the app of an account that had no password yet.
    try await stage.add(line("3", hash: false, Self.app))
    #expect(try await registry.removeTOTP(of: "3", now: ImportStage.now))
    #expect(try await stage.add(line("3", hash: true, Self.app), merges: true).counts == [0, 1, 0, 0])
    #expect(try await registry.totp(of: "3") == nil)
    // The owner has a password here, and none asks for an app.
    #expect(try await stage.add(line("2", hash: true, Self.app), merges: true).counts == [0, 0, 1, 0])
    #expect(try await registry.totp(of: "2") == nil)
  }

  @Test func `stays, whenever it was made`() async throws {
    let stage = try ImportStage()
    let time = #""created_at":"0001-01-01T00:00:00Z""#
    let app = #""totp":{"secret":"GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",\#(time)}"#
    let there = #""identities":[{"issuer":"https://accounts.google.com","subject":"g1"}]"#
    try await stage.add(line("1", hash: true, "\(time),\(app),\(there)"))
    _ = try await stage.registry.prune(now: ImportStage.now)
    #expect(try await stage.registry.totp(of: "1") != nil)
    let account = try #require(try await stage.registry.account("1"))
    #expect(try await stage.registry.identities(of: account).count == 1)
  }

  @Test func `is taken whole, or the record is refused`() async throws {
    let stage = try ImportStage()
    let bad = [
      #""totp":{"secret":"GEZDGNBVGY3TQOJQ"}"#, #""totp":{"secret":"1"}"#, #""totp":{}"#, #""totp":"x""#,
      #""recovery_code_hashes":["x"]"#, #""recovery_code_hashes":["AAECAwQF BgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"]"#,
    ]
    let report = try await stage.add(bad.map { line("1", hash: true, $0) }.joined())
    #expect(report.codes == (1...bad.count).map { "\($0) invalid_field" })
    // The hashes hold for one ID.
    let drawn = try await stage.add(#"{"email":"ada@example.org",\#(Self.app),\#(Self.codes)}"#)
    #expect(drawn.counts == [1, 0, 0, 0] && drawn.left.keys.sorted() == ["recovery_code"])
    // A step to come would refuse the owner's codes.
    try await stage.add(
      line("3", hash: true, #""totp":{"secret":"GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ","last_step":1000000000}"#))
    let step = try #require(try await stage.registry.movingTOTP(of: "3")).step
    #expect(step == TOTPSecret.step(at: ImportStage.now) + 1)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `People who left with secrets` {
  @Test func `sign in elsewhere with password and code, a recovery code, and a provider`() async throws {
    try await ProviderPair.run { pair in
      let (test, clock) = (pair.test, pair.test.clock)
      let ada = try await test.signUp()
      _ = try await pair.person("ada@elsewhere.example")
      let browser = try await Browser.signedIn(test)
      let codes = try await browser.fill("/account/security", "make-codes")
      let recovery = String(try #require(codes.text.firstMatch(of: /<li><code>([^<]+)<\/code>/)).output.1)
      _ = try await pair.signIn("ada@elsewhere.example", browser, from: "/account/security", "link")
      let app = try await test.addApp(to: ada)
      let lines = try await test.server.administration(by: .machineUser("bob")).exported(withSecrets: true)
      let settings = UpstreamProvider(
        id: "office", name: "Work", issuer: ProviderPair.issuer, clientID: "forum", clientSecret: ProviderPair.secret)
      try await TestServer.run(clock: clock, transport: pair.road) {
        $0.providers = [settings]
      } body: { fresh in
        let report = try await fresh.server.administration(by: .machineUser("bob"))
          .importAccounts(lines.pieces(1000), options: ImportOptions(.handstamp))
        #expect(report.counts == [1, 0, 0, 0] && report.left.isEmpty)
        #expect(try await fresh.signIn(code: nil).code == "second_factor_required")
        // The last code that counted there.
        let used = app.code(at: clock.now.advanced(by: .seconds(-30)))
        #expect(try await fresh.signIn(code: used).code == "second_factor_wrong")
        let signedIn = try await fresh.signIn(code: app.code(at: clock.now))
        #expect(try TestServer.Session(signedIn).account == ada.account)

        let moved = ProviderPair(test: fresh, provider: pair.provider, road: pair.road, wayBack: pair.wayBack)
        let elsewhere = moved.browser
        #expect(try await moved.signIn("ada@elsewhere.example", elsewhere).status == 303)
        #expect(try await moved.account(of: elsewhere) == AccountID(ada.account))

        let fields = [("email", "ada@example.org"), ("recovery_code", recovery)]
        let lost = moved.browser
        #expect(try await lost.fill("/recover", "recover", fields).status != 303, "beside the password only")
        let both = fields + [("password", TestServer.password)]
        #expect(try await lost.fill("/recover", "recover", both).status == 303)
        #expect(try await lost.get("/account/security").status == 200)
        #expect(try await moved.browser.fill("/recover", "recover", both).status != 303, "once")
      }
    }
  }
}
#endif
