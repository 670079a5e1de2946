#if Programs
import Crypto
import Foundation
import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `People who moved in` {
  @Test(arguments: ImportFormat.allCases)
  func `sign in with their former passwords, and get no mail`(format: ImportFormat) async throws {
    let post = Post()
    try await TestServer.run(mailer: post) {
      $0.mail.notices = Set(AccountNotice.allCases)
    } body: { test in
      let text = try #require(ImportSamples.all[format])
      _ = try await test.server.administration(by: .machineUser("bob"))
        .importAccounts(text.pieces(1000), options: ImportStage.options(format))
      #expect(post.all.isEmpty)
      let email = try #require(EmailAddress("ada@example.org"))
      let id = try #require(try await test.server.registry.account(email: email)?.id)
      let password = format == .firebase ? "user1password" : "correct horse battery"
      let wrong = try await test.client.post(
        "/v1/sign-in", json: TestServer.signInBody("ada@example.org", password: "wrong horse battery"))
      #expect(wrong.status == 401)
      let answer = try await test.client.post(
        "/v1/sign-in", json: TestServer.signInBody("ada@example.org", password: password))
      #expect(try TestServer.Session(answer).account == id.rawValue, "the sub that clients know")
    }
  }

  /// Keycloak's export does not say whether a passkey may be copied.
  @Test(arguments: [UInt8(0x05), 0x1D])
  func `sign in with their former passkeys`(flags: UInt8) async throws {
    try await TestServer.run { test in
      let key = P256.Signing.PrivateKey()
      let point = Array(key.publicKey.rawRepresentation)
      let cose: [UInt8] =
        [0xA5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32] + point.prefix(32) + [0x22, 0x58, 32] + point.suffix(32)
      let (id, handle) = (Base64URL.encode([1, 2, 3]), Base64URL.encode(Array("old-id".utf8)))
      let line = """
        {"id":"u-1","email":"ada@example.org","passkeys":[{"id":"\(id)","public_key":"\(Base64URL.encode(cose))",\
        "user_handle":"\(handle)"}]}
        """
      let report = try await test.server.administration(by: .machineUser("bob"))
        .importAccounts(line.pieces(100), options: ImportOptions(.handstamp))
      #expect(report.counts == [1, 0, 0, 0] && report.left.isEmpty)
      for turn in 1...2 {
        let options = try await test.client.post("/v1/sign-in/passkey/options", json: "{}")
        let challenge: String = try #require(options.json["challenge"])
        let client = Array(
          #"{"type":"webauthn.get","challenge":"\#(challenge)","origin":"https://id.example.org","crossOrigin":false}"#
            .utf8)
        let site = Array(SHA256.hash(data: Array("id.example.org".utf8)))
        // The other kind of passkey would be another one.
        let data = site + [turn == 1 ? flags : flags ^ 0x18, 0, 0, 0, 0]
        let signature = try key.signature(for: data + Array(SHA256.hash(data: client)))
        let answer = #"""
          {"id":"\#(id)","rawId":"\#(id)","type":"public-key","clientExtensionResults":{},"response":\#
          {"clientDataJSON":"\#(Base64URL.encode(client))","authenticatorData":"\#(Base64URL.encode(data))",\#
          "signature":"\#(Base64URL.encode(Array(signature.derRepresentation)))","userHandle":"\#(handle)"}}
          """#
        let body = #"{"passkey":\#(JSONString.quoted(answer)),\#(TestServer.deviceBody("phone"))}"#
        let session = try await test.client.post("/v1/sign-in/passkey", json: body)
        #expect(session.status == (turn == 1 ? 200 : 401), "\(session.text)")
        if turn == 1 { #expect(try TestServer.Session(session).account == "u-1") }
      }
    }
  }

  @Test func `over HTTP get a report`() async throws {
    try await AdministeredServer.run { admin, test in
      func send(_ query: String, _ text: String, type: String = "application/x-ndjson") async throws
        -> WireClient.Answer
      {
        try await test.client.send(
          "POST", "/admin/v1/accounts/import" + query, token: AdministeredServer.token,
          headers: ["Content-Type": type], body: Array(text.utf8))
      }
      let lines = #"{"id":"1","email":"ada@example.org"}"# + "\n{\n"
      let trial = try await send("?dry_run=true", lines)
      #expect(trial.status == 200 && trial.json["created"] == 1)
      #expect(try await admin.get("/accounts/1").status == 404)
      let report = try await send("", lines).json
      #expect(report["created"] == 1 && report["refused"] == 1)
      #expect(report[list: "refusals"].first?["code"] == "invalid_json")
      #expect(report[list: "refusals"].first?["line"] == 2)
      #expect(try await send("?from=handstamp&merge=true", lines).json["unchanged"] == 1)
      #expect(try await admin.get("/accounts/1").status == 200)
      #expect(try await send("?from=auth0", ImportSamples.auth0).json["refused"] == 1, "one address is taken")
      let linked = #"{"id":"g1","email":"g@example.org","identities":[{"provider":"github","provider_id":"5"}]}"#
      #expect(
        try await send("?from=gotrue&provider=github%3Dhttps://github.com", linked).json[list: "left"].isEmpty)
      let gitHub = ExternalIdentity(issuer: "https://github.com", subject: "5")
      #expect(try await test.server.registry.account(identity: gitHub)?.id == "g1")
      for bad in ["?from=okta", "?merge=yes", "?dry_run=1", "?provider=github"] {
        #expect(try await send(bad, lines).status == 400, "\(bad)")
      }
      #expect(try await send("", lines, type: "application/json").status == 415)
      #expect(try await send("", String(repeating: " ", count: 70_000)).status == 413)
      let missing = try await test.client.send("POST", "/admin/v1/accounts/import")
      #expect(missing.status == 401)
    }
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func `leave with everything, and come back the same`(seed: UInt64) async throws {
    var random = SplitMix64(state: seed)
    let (stage, other) = (try ImportStage(), try ImportStage())
    let key = try #require(
      try ImportStage().read(ImportSamples.kratos, .kratos).first?.passkeys.first?.publicKey)
    let names = ["Ada", "", "Žofie \"Z\" \\ 😀", "O'Neil,\tX", String(repeating: "n", count: 200)]
    var lines = ""
    for number in 0..<40 {
      var account = ImportedAccount()
      account.id = Bool.random(using: &random) ? "u|\(number)~\"\\" : nil
      account.email = "U\(number)+x@example.org"
      account.isEmailVerified = Bool.random(using: &random)
      if Bool.random(using: &random) { account.name = names.randomElement(using: &random) }
      account.locale = ["de", "pt-BR"].randomElement(using: &random).flatMap { LanguageTag(rawValue: $0) }
      account.createdAt = UnixTime(milliseconds: .random(in: -1_000_000_000_000...1_700_000_000_000, using: &random))
      account.isDisabled = Bool.random(using: &random)
      account.groups = ["a", "b:ü", "c"].filter { _ in Bool.random(using: &random) }
      if Bool.random(using: &random) {
        account.identity = ExternalIdentity(issuer: "https://id.example.org", subject: "\(number)")
      }
      if Bool.random(using: &random) {
        account.passwordHash = Secret("$2b$06$abcdefghijklmnopqrstuuAbcdefghijklmnopqrstuvwxyzABCDE")
        account.passwordChangedAt = UnixTime(milliseconds: .random(in: 0...1_700_000_000_000, using: &random))
      }
      func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in .random(in: 0...255, using: &random) } }
      for index in 0..<Int.random(in: 0...2, using: &random) {
        let identity = ExternalIdentity(issuer: "https://other.example.org", subject: "\(number) \(index)")
        account.add(
          ImportedAccount.Identity(
            identity: identity, label: names[index],
            createdAt: UnixTime(milliseconds: .random(in: 0...1_700_000_000_000, using: &random))))
      }
      if Bool.random(using: &random) {
        account.totp = MovingTOTP(TOTPSecret(bytes: bytes(.random(in: 16...64, using: &random))))
        account.totp?.lastUsedAt = UnixTime(milliseconds: .random(in: 0...1_700_000_000_000, using: &random))
        account.totp?.step = .random(in: 0...60_000_000, using: &random)
        if account.id != nil { account.recoveryCodes = [Base64URL.encode(bytes(32)), Base64URL.encode(bytes(32))] }
      }
      for index in 0..<Int.random(in: 0...3, using: &random) {
        var passkey = ImportedAccount.Passkey(id: [UInt8(number), UInt8(index)], publicKey: key)
        passkey.userHandle = Bool.random(using: &random) ? [1, 2, 3] : nil
        passkey.signCount = .random(in: 0 ... .max, using: &random)
        (passkey.isBackupEligible, passkey.transports) = (Bool.random(using: &random), ["usb", "nfc"])
        account.passkeys.append(passkey)
      }
      let arriving = try account.arriving(in: stage.registry, at: ImportStage.now).account
      lines += String(decoding: arriving.line, as: UTF8.self)
    }
    let created = try await stage.add(lines).counts
    #expect(created == [40, 0, 0, 0])
    let export = try await stage.exported()
    #expect(try await other.add(export).counts == created)
    #expect(try await other.exported() == export)
    #expect(try await other.accounts() == stage.accounts())
    #expect(try await stage.add(export).counts == [0, 0, 40, 0])
    let open = try await stage.exported(withSecrets: false)
    #expect(!open.contains("$2b$") && !open.contains(#""totp""#) && !open.contains("recovery_code_hashes"))
    #expect(open.contains(#""identities""#))
  }
}

extension ImportStage {
  func read(_ text: String, _ format: ImportFormat) throws -> [ImportedAccount] {
    var (records, reader) = (ImportRecords(format), ImportReader(options: ImportOptions(format)))
    return try (records.add(text.utf8) + records.end()).compactMap { record in
      try reader.account(ImportFields(try record.content.get()))
    }
  }
}
#endif
