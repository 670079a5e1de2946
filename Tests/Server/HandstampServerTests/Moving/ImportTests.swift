#if Programs
import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `An import of accounts` {
  /// How many accounts each sample has, its refused records, and the kinds of facts that are left out.
  private static let samples: [(format: ImportFormat, text: String, created: Int, refused: [String], left: [String])] =
    [
      (.handstamp, ImportSamples.handstamp, 3, [], []),
      (.gotrue, ImportSamples.gotrue, 2, ["3 no_person"], ["phone"]),
      (.gotrue, ImportSamples.gotrueTable, 2, ["4 no_person"], ["phone"]),
      (.keycloak, ImportSamples.keycloak, 3, ["no_person"], ["totp"]),
      (.firebase, ImportSamples.firebase, 2, ["no_address"], []),
      (.auth0, ImportSamples.auth0, 2, [], []),
      (.kratos, ImportSamples.kratos, 2, [], ["totp"]),
      (.django, ImportSamples.django, 4, [], []),
      (.devise, ImportSamples.devise, 2, [], ["address"]),
    ]

  @Test(arguments: samples.indices)
  func `takes the accounts of each system, and nothing a second time`(index: Int) async throws {
    let sample = Self.samples[index]
    let stage = try ImportStage()
    let trial = try await stage.add(sample.text, from: sample.format, isTrial: true)
    #expect(try await stage.accounts().isEmpty, "a trial writes nothing")
    let report = try await stage.add(sample.text, from: sample.format)
    #expect(report == trial)
    #expect(report.counts == [sample.created, 0, 0, sample.refused.count], "\(report.codes)")
    #expect(zip(report.codes, sample.refused).allSatisfy { $0.hasSuffix($1) }, "\(report.codes)")
    #expect(report.left.keys.sorted() == sample.left)
    let ada = try #require(try await stage.account("ada@example.org"))
    // Django does not say whether an address was confirmed.
    #expect((ada.emailConfirmedAt != nil) == (sample.format != .django))
    #expect(ada.closedAt == nil && ada.passwordHash != nil)
    #expect(ada.username.hasPrefix("Ada") || sample.format == .auth0)
    #expect(ada.locale?.rawValue == (sample.format == .handstamp ? "de-CH" : nil))
    let bob = try #require(try await stage.account("bob@example.org"))
    #expect(bob.emailConfirmedAt == nil)
    #expect(bob.closedAt != nil || sample.format == .devise, "disabled stays disabled")
    let all = try await stage.accounts()
    for merges in [false, true] {
      let again = try await stage.add(sample.text, from: sample.format, merges: merges)
      #expect(again.counts == [0, 0, sample.created, sample.refused.count], "\(again.codes)")
    }
    #expect(try await stage.accounts() == all, "not even a revision")
  }

  @Test func `keeps IDs, times, groups and passkeys`() async throws {
    let stage = try ImportStage()
    try await stage.add(ImportSamples.keycloak, from: .keycloak)
    let ada = try #require(try await stage.account("ada@example.org"))
    #expect(ada.id == "7c1fdf4e-0001-4d7e-9b55-0a3d1d7a0001" && ada.createdAt.milliseconds == 1_709_288_400_123)
    #expect(try await stage.registry.groups(of: ada.id) == ["staff", "staff/board"])
    let passkey = try #require(try await stage.registry.passkeys(of: ada.id).first)
    #expect(passkey.name == "phone" && passkey.userHandle == Array(ada.id.rawValue.utf8))
    #expect(try await stage.account("carol@example.org")?.identity?.subject == "1122334455")
    let other = try ImportStage()
    try await other.add(ImportSamples.django, from: .django)
    #expect(try await other.registry.groups(of: "1") == ["staff"])
    #expect(try await other.registry.groups(of: "2") == ["editors"])
    #expect(try await other.account("carol@example.org")?.passwordHash == nil)
  }

  @Test func `lists bad lines, and takes the others`() async throws {
    let stage = try ImportStage()
    let report = try await stage.add(
      """
      {"email":"a@example.org","email_verified":true}
      {"email":"b@example.org",
      [1]

      {"email":"c"}
      {"email":"d@example.org","id":"two words"}
      {"email":"e@example.org","password_hash":"hunter2"}
      {"email":"f@example.org","password_hash":"$2b$31$abcdefghijklmnopqrstuuAbcdefghijklmnopqrstuvwxyzABCDE"}
      {"name":"no way in"}
      {"email":"g@example.org","created_at":"yesterday"}
      {"email":"h@example.org","email":"i@example.org"}
      \(String(repeating: "x", count: ImportRecords.longest + 10))
      {"email":"j@example.org"}
      {"email":"k@example.org","locale":"Swiss German"}
      """)
    #expect(report.counts == [2, 0, 0, 11])
    #expect(
      report.codes == [
        "2 invalid_json", "3 invalid_json", "5 invalid_address", "6 invalid_id", "7 hash_unknown", "8 hash_too_costly",
        "9 no_address", "10 invalid_field", "11 invalid_json", "12 too_long",
        "14 invalid_field",
      ])
    #expect(report.refusals.allSatisfy { !$0.reason.hint.isEmpty })
    let text = report.described().text
    #expect(!text.contains("hunter2") && !text.contains("$2b$"))
    #expect(try await stage.add("", from: .kratos).codes == ["1 no_accounts"])
    #expect(try await stage.add(#"{"users":"none"}"#, from: .keycloak).codes == ["1 no_accounts"])
  }

  @Test func `reads CSV with quotes, newlines and missing fields`() async throws {
    let stage = try ImportStage()
    let report = try await stage.add(
      "id,email,name,encrypted_password\r\n1,a@example.org,\"Ada, \"\"the\nfirst\"\"\",\r\n2,b@example.org\r\n"
        + "3,c@example.org,x\"y,\n4,d@example.org,,\n5,e@example.org,Eve,\"$2a$06$cut", from: .devise)
    #expect(report.counts == [2, 0, 0, 3])
    #expect(report.codes == ["4 invalid_csv", "5 invalid_csv", "7 truncated"])
    #expect(try await stage.account("a@example.org")?.username == #"Ada, "thefirst""#)
    #expect(try await stage.account("d@example.org")?.username == "d")
    let twice = try await stage.add("id,email,email\n6,f@example.org,g@example.org\n", from: .devise)
    #expect(twice.codes == ["1 invalid_csv", "2 invalid_csv"])
  }

  @Test func `refuses an identity that a database would cut or refuse`() async throws {
    let stage = try ImportStage()
    let report = try await stage.add(
      #"""
      {"id":"1","email":"a@example.org","identity":{"issuer":"\u0000","subject":"1"}}
      {"id":"2","email":"b@example.org","identity":{"issuer":"https://accounts.google.com","subject":"1\u00002"}}
      {"id":"3","email":"c@example.org","identity":{"issuer":"https://accounts.google.com","subject":"1"}}
      {"id":"4","identities":[{"issuer":"https://accounts.google.com","subject":"1\u00002"}]}
      {"id":"5","email":"e@example.org","identities":[{"issuer":"https://accounts.google.com","subject":"2"},{"issuer":"https://a\u0000","subject":"2"}]}
      """#)
    #expect(report.codes == ["1 invalid_field", "2 invalid_field", "4 invalid_field", "5 invalid_field"])
    #expect(report.counts == [1, 0, 0, 4])
  }

  @Test func `refuses the ID of a guest`() async throws {
    let stage = try ImportStage()
    let guest = AccountRecord(
      id: "1", email: nil, username: "", passwordHash: nil, createdAt: ImportStage.now)
    try await stage.store.write([.createAccount(guest)], events: [])
    let text = #"{"id":"1","email":"a@example.org","email_verified":true}"# + "\n"
    for merges in [false, true] {
      #expect(try await stage.add(text, merges: merges).codes == ["1 id_taken"])
    }
  }

  @Test func `refuses the ID of a client without users`() async throws {
    let stage = try ImportStage(clients: [
      try ConfiguredClient(id: "deploy", secretHash: [UInt8](repeating: 1, count: 32), flows: [.credentials]),
      try ConfiguredClient(id: "app", redirectURIs: ["https://app.example.org/"]),
    ])
    _ = try await stage.registry.countToken(ofMachine: "nightly", now: ImportStage.now)
    let text = ["nightly", "deploy", "app"].map { #"{"id":"\#($0)","email":"\#($0)@example.org"}"# }
    let report = try await stage.add(text.joined(separator: "\n"))
    #expect(report.codes == ["1 id_of_client", "2 id_of_client"] && report.created == 1)
  }

  @Test func `never overwrites an account, and merges only what is missing`() async throws {
    let stage = try ImportStage()
    let hash = "$2b$06$abcdefghijklmnopqrstuuAbcdefghijklmnopqrstuvwxyzABCDE"
    try await stage.add(
      #"""
      {"id":"1","email":"ada@example.org","email_verified":true,"name":"Ada"}
      {"id":"2","email":"eve@example.org","email_verified":false}
      """#)
    let stronger =
      #"{"id":"1","email":"ada@example.org","email_verified":true,"name":"X","groups":["g"],"locale":"de","#
      + #""password_hash":"\#(hash)"}"#
    #expect(try await stage.add(stronger).counts == [0, 0, 1, 0])
    #expect(try await stage.account("ada@example.org")?.passwordHash == nil, "an import alone sets no password")
    // Another ID, the same address.
    let other = #"{"id":"9","email":"Ada@example.org","email_verified":true,"password_hash":"\#(hash)"}"#
    #expect(try await stage.add(other).codes == ["1 address_taken"])
    // The same ID, another address: another person, perhaps of another system.
    #expect(try await stage.add(#"{"id":"1","email":"x@example.org"}"#, merges: true).codes == ["1 id_taken"])
    // An address that was never confirmed may be a stranger's.
    let claim = #"{"id":"8","email":"eve@example.org","email_verified":true,"password_hash":"\#(hash)"}"#
    #expect(try await stage.add(claim, merges: true).codes == ["1 address_taken"])
    // Another spelling may be another mailbox, of another person.
    for spelling in [#"\"ada\"@example.org"#, "ａda@example.org"] {
      let claim = #"{"id":"7","email":"\#(spelling)","email_verified":true,"password_hash":"\#(hash)"}"#
      #expect(try await stage.add(claim, merges: true).codes == ["1 address_taken"], "\(spelling)")
    }
    #expect(try await stage.add(stronger, merges: true).counts == [0, 1, 0, 0])
    let ada = try #require(try await stage.account("ada@example.org"))
    #expect(ada.passwordHash == Secret(hash) && ada.username == "Ada" && ada.id == "1")
    #expect(ada.locale == nil, "its owner may have chosen none")
    #expect(try await stage.registry.groups(of: "1") == ["g"])
    #expect(try await stage.add(other, merges: true).counts == [0, 0, 1, 0])
    // A password that its owner has removed does not come back.
    var changed = ada
    (changed.passwordHash, changed.credentialsChangedAt) = (nil, ImportStage.now)
    _ = try await stage.registry.update(changed)
    #expect(try await stage.add(stronger, merges: true).counts == [0, 0, 1, 0])
    _ = try await stage.administration.delete("1")
    #expect(try await stage.add(stronger, merges: true).codes == ["1 account_deleted"])
  }

  @Test func `gives nothing back that was removed here, and takes no identity from its owner`() async throws {
    let stage = try ImportStage()
    let registry = stage.registry
    let line =
      #"{"id":"1","email":"ada@example.org","email_verified":true,"groups":["staff"],"locale":"de","#
      + #""identity":{"issuer":"https://accounts.google.com","subject":"1"}}"#
    try await stage.add(line)
    let ada = try #require(try await stage.account("ada@example.org"))
    let session = try await registry.createSession(
      by: .password(of: ada), SessionStart(device: DeviceInfo(id: DeviceID("d"), name: "d", platform: "")),
      now: ImportStage.now)
    // Another person's record with the identity that she has linked.
    let proof = IdentityProof(
      ExternalIdentity(issuer: "https://accounts.google.com", subject: "2"), provider: "google", label: "ada")
    _ = try await registry.link(proof, to: ada.id, in: session.row.id, now: ImportStage.now)
    let other =
      #"{"id":"2","email":"bob@example.org","identity":{"issuer":"https://accounts.google.com","subject":"2"}}"#
    #expect(try await stage.add(other).codes == ["1 identity_taken"])
    #expect(try await registry.account(identity: proof.identity)?.id == ada.id)
    let first = try #require(try await registry.identities(of: ada).first { $0.identity.subject == "1" })
    _ = try await registry.unlink(first.id, of: ada.id, orMailed: true, in: session.row.id, now: ImportStage.now)
    var now = try #require(try await registry.account(ada.id))
    #expect(now.locale?.rawValue == "de")
    now.locale = nil
    now = try await registry.update(now)
    try await registry.setGroups([], of: now, now: ImportStage.now)
    #expect(try await stage.add(line, merges: true).counts == [0, 0, 1, 0])
    #expect(try await registry.account(identity: first.identity) == nil)
    #expect(try await registry.groups(of: ada.id).isEmpty)
    #expect(try await registry.account(ada.id)?.locale == nil)
  }

  @Test func `decides between two records about one account in their order`() async throws {
    for isTrial in [false, true] {
      let stage = try ImportStage()
      let report = try await stage.add(
        #"""
        {"id":"1","email":"ada@example.org"}
        {"id":"1","email":"ada@example.org"}
        {"id":"1","email":"bob@example.org"}
        {"id":"2","email":"ADA@example.org"}
        """#, isTrial: isTrial)
      #expect(report.counts == [1, 0, 1, 2] && report.codes == ["3 id_taken", "4 address_taken"])
    }
  }

  @Test func `names the line and the address of which another account has another spelling`() async throws {
    for isTrial in [false, true] {
      let stage = try ImportStage()
      let report = try await stage.add(
        #"""
        {"email":"ada@bücher.example"}
        {"email":"ada@bücher.example"}
        {"email":"Ada@XN--bcher-kva.example"}
        {"id":"4","email":"\"ada\"@bücher.example"}
        {"email":"ada@example.org","name":"\u3164"}
        """#, isTrial: isTrial)
      #expect(report.counts == [2, 0, 1, 2] && report.codes == ["3 address_taken", "4 address_taken"])
      #expect(report.refusals.map(\.address) == ["Ada@XN--bcher-kva.example", "ada@bücher.example"])
      #expect(report.described().text.contains("XN--bcher") && !report.described(withLines: false).text.contains("@"))
      if !isTrial { #expect(try await stage.account("ada@example.org")?.username == "ada") }
    }
  }

  @Test func `goes on after an interruption`() async throws {
    let stage = try ImportStage()
    let lines = (0..<700).map { #"{"id":"u\#($0)","email":"u\#($0)@example.org","groups":["g"]}"# + "\n" }.joined()
    let fail = Locked(false)
    await #expect(throws: AdministrationError.self) {
      try await stage.administration.importAccounts(lines.pieces(1000), options: ImportStage.options(.handstamp)) {
        if $0.created >= 256, !fail.withLock({ $0 }) {
          fail.withLock { $0 = true }
          stage.store.fail(.all)
        }
      }
    }
    stage.store.fail(.none)
    #expect(try await stage.accounts().count == 256, "whole writes alone")
    #expect(try await stage.add(lines).counts == [444, 0, 256, 0])
    #expect(try await stage.accounts().count == 700)
    let audit = try await stage.administration.auditedActions()
    #expect(audit.map(\.audited.action) == ["accounts.import_began", "accounts.import_began", "accounts.imported"])
    #expect(audit.allSatisfy { $0.audited.actor == "operator:bob" })
    #expect(audit.last?.audited.details == #"{"created":444,"merged":0,"unchanged":256,"refused":0}"#)
  }

  // MARK: Broken exports

  /// The accounts that records have, in order.
  private func read(_ bytes: some Sequence<UInt8>, _ format: ImportFormat, _ registry: Registry) -> [ImportedAccount] {
    var (records, reader) = (
      ImportRecords(format), ImportReader(options: ImportStage.options(format))
    )
    var accounts: [ImportedAccount] = []
    for record in records.add(bytes) + records.end() {
      guard case .success(let members) = record.content, let account = try? reader.account(ImportFields(members)),
        (try? account.arriving(in: registry, at: ImportStage.now)) != nil
      else { continue }
      accounts.append(account)
    }
    return accounts
  }

  @Test(arguments: samples.indices)
  func `of a file that ends anywhere takes whole accounts alone`(index: Int) throws {
    let sample = Self.samples[index]
    let (bytes, registry) = (Array(sample.text.utf8), try ImportStage().registry)
    let all = read(bytes, sample.format, registry)
    #expect(all.count == sample.created)
    for end in bytes.indices {
      let some = read(bytes[..<end], sample.format, registry)
      #expect(some == Array(all.prefix(some.count)), "cut at \(end)")
    }
  }

  @Test(arguments: ImportFormat.allCases)
  func `survives every value in every field`(format: ImportFormat) throws {
    let registry = try ImportStage().registry
    var records = ImportRecords(format)
    let values: [JSONValue] = [
      .null, .bool(true), .integer(-1), .integer(.max), .number(0.5), .string(""), .string("\u{0}\u{FFFF}"),
      .string(String(repeating: "$", count: 5000)), .array([]), .array([.null]), .object([:]),
      .object(["": .array([.integer(1)])]),
    ]
    let text = try #require(ImportSamples.all[format])
    for record in records.add(text.utf8) + records.end() {
      for changed in try JSONValue.object(record.content.get()).variants(with: values) {
        var reader = ImportReader(options: ImportStage.options(format))
        do throws(ImportError) {
          let account = try reader.account(ImportFields(changed))
          if let stored = try account?.arriving(in: registry, at: ImportStage.now).account.record {
            #expect(stored.createdAt <= ImportStage.now && (1...255).contains(stored.id.rawValue.utf8.count))
          }
        } catch { #expect(!error.hint.isEmpty) }
      }
    }
  }

  @Test(arguments: samples.indices, [1, 7, 4096])
  func `reads the same in pieces of any size`(index: Int, size: Int) async throws {
    let sample = Self.samples[index]
    let (one, other) = (try ImportStage(), try ImportStage())
    let report = try await one.add(sample.text, from: sample.format, pieces: 1_000_000)
    #expect(try await other.add(sample.text, from: sample.format, pieces: size) == report)
  }
}

extension JSONValue {
  /// The value with each of its parts replaced by each of `values`, one at a time. Text of an object counts as one.
  fileprivate func variants(with values: [JSONValue]) -> [JSONValue] {
    switch self {
    case .object(let members):
      return members.flatMap { name, value in
        (values + value.variants(with: values)).map { part in
          var changed = members
          changed[name] = part
          return .object(changed)
        }
      }
    case .array(let parts):
      return parts.indices.flatMap { index in
        (values + parts[index].variants(with: values)).map { part in
          var changed = parts
          changed[index] = part
          return .array(changed)
        }
      }
    case .string(let text):
      guard case .object(let members)? = JSONValue(Array(text.utf8)) else { return [] }
      return JSONValue.object(members).variants(with: values)
    case .null, .bool, .integer, .number: return []
    }
  }
}
#endif
