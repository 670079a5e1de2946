#if PostgreSQL
import Foundation
import HandstampCore
import HandstampPostgres
import HandstampRegistry
import HandstampSQLite
import Testing

/// Removals after a backup was made, in either store.
@Suite(.timeLimit(.minutes(10))) struct `What was taken away` {
  enum Kind: String, CaseIterable, Sendable { case sqlite, postgres }

  /// A server's database that can be set back.
  private struct Place {
    let kind: Kind
    let folder: Folder
    let cluster: PostgresCluster
    let database: TestDatabase

    init(_ kind: Kind) throws {
      self.kind = kind
      folder = try Folder()
      cluster = try PostgresCluster.shared.get()
      database = try cluster.newDatabase()
    }

    private var file: String { folder.path + "/registry.sqlite" }
    private var copy: String { database.name + "_copy" }

    @discardableResult
    func run<Value>(_ body: (any ServerStore, Registry) async throws -> Value) async throws -> Value {
      let (store, keys): (any ServerStore, ServerKeys) =
        switch kind {
        case .sqlite: try ServerFolder(path: folder.path).open()
        case .postgres: try await database.node(folder.path).open()
        }
      let value = try await body(store, Registry(store: store, mint: TokenMint(keys.master)))
      try store.close()
      return value
    }

    func backUp() throws {
      switch kind {
      case .sqlite: try FileManager.default.copyItem(atPath: file, toPath: file + ".copy")
      case .postgres: try cluster.sql("CREATE DATABASE \(copy) TEMPLATE \(database.name)", in: "postgres")
      }
    }

    /// Puts the copy in the place of the database, and keeps it.
    func restore() throws {
      switch kind {
      case .sqlite:
        for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file + end) }
        try FileManager.default.copyItem(atPath: file + ".copy", toPath: file)
      case .postgres:
        try cluster.sql("DROP DATABASE \(database.name)", in: "postgres")
        try cluster.sql("CREATE DATABASE \(database.name) TEMPLATE \(copy)", in: "postgres")
      }
    }
  }

  private static let names = [
    "gone", "disabled", "enabled", "changed", "unconfirmed", "moved", "taken", "freed", "owner", "kept", "swap1",
    "swap2",
  ]
  private let start = UnixTime(seconds: 1_780_000_000)
  private var later: UnixTime { start.advanced(by: .seconds(100)) }

  private func id(_ name: String) -> AccountID { AccountID(name) }

  private func item(_ kind: StoredItem.Kind, _ name: String, of account: String, payload: String = "p")
    -> StoredItem
  {
    StoredItem(
      id: kind == .recoveryCodes ? StoredItemID(kind, account) : StoredItemID(kind, account, name), kind: kind,
      subject: account,
      payload: payload, createdAt: start, expiresAt: UnixTime.systemTime.advanced(by: .seconds(1_000_000)))
  }

  private func code(_ purpose: OneTimeTokenRecord.Purpose) -> OneTimeTokenRecord {
    OneTimeTokenRecord(
      id: OneTimeTokenID(of: Secret("code"), purpose: purpose), purpose: purpose, subject: "owner",
      account: id("owner"),
      createdAt: start, expiresAt: UnixTime.systemTime.advanced(by: .seconds(1_000_000)))
  }

  /// A session of an OpenID client.
  private let session = SessionRow(
    session: Samples.session(7).session, account: AccountID("kept"),
    device: DeviceInfo(id: DeviceID("d"), name: "", platform: ""), kind: .keyed,
    client: SessionClient(id: "app", scope: "openid"), createdAt: UnixTime(seconds: 1_780_000_000))
  private let former = FormerToken.id(of: Secret("former"))
  private let formerOfTaken = FormerToken.id(of: Secret("another"))

  /// Accounts with passwords, passkeys, recovery codes, consents and codes.
  private func fill(_ store: any ServerStore, _ registry: Registry) async throws {
    for name in Self.names {
      let record = AccountRecord(
        id: id(name), email: EmailAddress("\(name)@example.org"),
        identity: ExternalIdentity(issuer: "https://idp.example.org", subject: name), username: name,
        passwordHash: Secret("hash"),
        createdAt: start, emailConfirmedAt: name == "unconfirmed" ? nil : start)
      try await store.write([.createAccount(record)], events: [])
    }
    _ = try await registry.closeAccount(try #require(try await registry.account(id("enabled"))), now: start)
    let items =
      [item(.passkey, "lost", of: "owner"), item(.passkey, "own", of: "owner"), item(.consent, "app", of: "owner")]
      + ["owner", "kept", "gone"].map { item(.recoveryCodes, "", of: $0, payload: "one two three") }
      + [item(.passkey, "thief", of: "taken"), item(.consent, "thief", of: "taken"), item(.passkey, "a", of: "gone")]
      + [item(.emailChange, "", of: "owner"), item(.device, "thief", of: "taken")]
      + [item(.webhook, "crm", of: "webhooks"), item(.nodeKeys, "n", of: "nodes")]
    try await store.write(
      items.map { .createItem($0) }
        + OneTimeTokenRecord.Purpose.allCases.map { .createOneTimeToken(code($0)) } + [.createSession(session)],
      events: [])
    let entry = FormerEntry(id: try #require(former), account: id("kept"), authenticatedAt: nil, expiresAt: nil)
    let other = FormerEntry(
      id: try #require(formerOfTaken), account: id("taken"), authenticatedAt: nil, expiresAt: nil)
    #expect(try await registry.importFormer([entry, other], now: UnixTime.systemTime) == [true, true])
    _ = try await registry.countToken(ofMachine: "nightly", now: UnixTime.systemTime)
  }

  /// Everything that an owner or an administrator may take away.
  private func takeAway(_ store: any ServerStore, _ registry: Registry) async throws {
    func record(_ name: String) async throws -> AccountRecord { try #require(try await registry.account(id(name))) }
    _ = try await registry.deleteAccount(try await record("gone"), now: later)
    _ = try await registry.closeAccount(try await record("disabled"), now: later)
    _ = try await registry.reopenAccount(try await record("enabled"), now: later)
    for name in ["changed", "unconfirmed"] {
      _ = try await registry.setPassword(of: try await record(name), hash: Secret("new"), keeping: nil, now: later)
    }
    var moved = try await record("moved")
    (moved.email, moved.emailConfirmedAt) = (EmailAddress("Elsewhere@example.org"), later)
    _ = try await registry.update(moved)
    // An address that two accounts have one after the other.
    var freed = try await record("freed")
    freed.email = EmailAddress("moved@example.org")
    _ = try await registry.update(freed)
    // Two accounts that have changed their addresses with each other.
    var (one, two) = (try await record("swap1"), try await record("swap2"))
    (one.email, two.email) = (EmailAddress("interim@example.org"), one.email)
    one = try await registry.update(one)
    _ = try await registry.update(two)
    one.email = EmailAddress("swap2@example.org")
    _ = try await registry.update(one)
    _ = try await registry.takeBack(try await record("taken"), now: later)
    _ = try await registry.withdrawConsent(of: id("owner"), to: "app", now: later)
    _ = try await registry.endAll(of: id("kept"), now: later)
    #expect(try await registry.endTokens(ofMachine: "nightly", now: UnixTime.systemTime) != nil)
    // The user at the provider is another one, as after the unlinking of the first.
    var linked = try await record("enabled")
    linked.identity = ExternalIdentity(issuer: "https://idp.example.org", subject: "other")
    _ = try await registry.update(linked)
    let webhook = try #require(try await store.item(item(.webhook, "crm", of: "webhooks").id))
    let lost = try #require(try await store.item(item(.passkey, "lost", of: "owner").id))
    var codes = try #require(try await store.item(item(.recoveryCodes, "", of: "owner").id))
    codes.payload = "one three"
    try await store.write(
      [
        .removeItem(webhook), .removeItem(lost), .replaceItem(codes, expecting: codes.revision),
        .redeemOneTimeToken(code(.passwordReset).id),
      ],
      events: [])
  }

  private func expectTakenAway(_ store: any ServerStore) async throws {
    func account(_ name: String) async throws -> AccountRecord { try #require(try await store.account(id(name))) }
    #expect(try await account("gone").state == .deleted)
    #expect(try await account("gone").username.isEmpty)
    #expect(try await account("disabled").state == .disabled)
    #expect(try await account("enabled").state == .active)
    for name in ["changed", "unconfirmed", "taken"] {
      let record = try await account(name)
      #expect(record.passwordHash == nil && record.credentialsChangedAt == later, "\(name)")
    }
    #expect(try await account("moved").email?.typed == "Elsewhere@example.org")
    #expect(try await account("moved").emailConfirmedAt == later)
    #expect(try await account("freed").email?.typed == "moved@example.org")
    #expect(try await account("swap1").email?.typed == "swap2@example.org")
    #expect(try await account("swap2").email?.typed == "swap1@example.org")
    #expect(try await account("swap1").emailConfirmedAt == start)
    for name in ["owner", "kept"] {
      let record = try await account(name)
      #expect(record.passwordHash == Secret("hash") && record.identity != nil, "\(name)")
    }
    #expect(try await account("taken").identity == nil)
    #expect(try await store.session(session.id)?.end?.reason == .revoked)
    #expect(try await store.item(StoredItemID(.logout, session.id.rawValue)) != nil, "the client is told")
    let used = try #require(former)
    #expect(try await store.item(used).map(FormerToken.isUsed) == true)
    let spent = try #require(formerOfTaken)
    #expect(try await store.item(spent).map(FormerToken.isUsed) == true)
    #expect(try await account("enabled").identity?.subject == "other")
    #expect(try await store.items(.identity, subject: "enabled").count == 1, "by which its user signs in")
    #expect(try await store.items(.webhook, subject: "webhooks").isEmpty)
    #expect(try await store.items(.device, subject: "taken").isEmpty)
    func payloads(_ kind: StoredItem.Kind, _ name: String) async throws -> [String] {
      try await store.items(kind, subject: name).filter { $0.expiresAt > $0.createdAt }.map(\.payload)
    }
    let own = item(.passkey, "own", of: "owner").id
    #expect(try await store.items(.passkey, subject: "owner").map(\.id) == [own])
    #expect(try await payloads(.consent, "owner").isEmpty)
    #expect(try await payloads(.recoveryCodes, "owner") == ["one three"])
    #expect(try await payloads(.recoveryCodes, "kept") == ["one two three"])
    #expect(try await payloads(.emailChange, "owner").isEmpty)
    for kind in [StoredItem.Kind.passkey, .consent, .recoveryCodes] {
      for name in ["gone", "taken"] { #expect(try await payloads(kind, name).isEmpty, "\(kind) of \(name)") }
    }
    for purpose in OneTimeTokenRecord.Purpose.allCases {
      let isKept = [.nonce, .usedCode].contains(purpose)
      #expect((try await store.oneTimeToken(code(purpose).id) != nil) == isKept, "\(purpose)")
    }
  }

  @Test(arguments: Kind.allCases) func `stays away when a backup is restored`(kind: Kind) async throws {
    let place = try Place(kind)
    try await place.run(fill)
    try place.backUp()
    try await place.run(takeAway)
    try await place.run { store, _ in #expect(store.reapplied.isEmpty, "\(store.reapplied)") }
    for _ in 0..<2 {
      try place.restore()
      try await place.run { store, _ in
        try await expectTakenAway(store)
        #expect(try await store.items(.nodeKeys, subject: "nodes").isEmpty)
        #expect(try await store.items(.machine, subject: "machines").isEmpty)
        var expected = Reapplied()
        (expected.deletedAccounts, expected.disabledAccounts, expected.movedAddresses) = (1, 1, 4)
        (expected.credentials, expected.consents) = (3, 2)
        (expected.sessions, expected.webhooks, expected.codes) = (1, 1, 10)
        expected.lostPasswords = store.reapplied.lostPasswords
        #expect(store.reapplied == expected)
        #expect(store.reapplied.lostPasswords.map(\.account.rawValue) == ["unconfirmed", "changed"])
        #expect(store.reapplied.lostPasswords.map(\.hasConfirmedAddress) == [false, true])
      }
      // Once: what is given after the restore is not taken.
      let given = item(.consent, "app", of: "owner")
      try await place.run { store, _ in
        #expect(store.reapplied.isEmpty, "\(store.reapplied)")
        try await store.write([.putItem(given), .createOneTimeToken(code(.passwordReset))], events: [])
      }
      try await place.run { store, _ in
        #expect(store.reapplied.isEmpty)
        let (consent, reset) = try await (store.item(given.id), store.oneTimeToken(code(.passwordReset).id))
        #expect(consent?.expiresAt == given.expiresAt && reset != nil)
      }
    }
  }

  /// A crash right after the commit, or a log of another node.
  @Test(arguments: Kind.allCases) func `gets into a log that lacks it`(kind: Kind) async throws {
    let place = try Place(kind)
    try await place.run(fill)
    try place.backUp()
    try await place.run(takeAway)
    let log = place.folder.path + "/ends.log"
    let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
    #expect(lines.contains { $0.hasPrefix("removal ") })
    try (lines.filter { !$0.hasPrefix("removal ") }.joined(separator: "\n") + "\n")
      .write(toFile: log, atomically: false, encoding: .utf8)
    try await place.run { store, _ in #expect(store.reapplied.isEmpty) }
    try place.restore()
    try await place.run { store, _ in
      #expect(store.unreadableEnds == 0)
      try await expectTakenAway(store)
    }
  }

  /// A clock that was set back, or that of another node.
  @Test(arguments: Kind.allCases) func `is in the order of the writes, whatever the clock says`(kind: Kind) async throws
  {
    let place = try Place(kind)
    try await place.run(fill)
    let later = UnixTime.systemTime.advanced(by: .seconds(3600))
    let ahead = Removal(
      account: id("kept"), at: later,
      content: .account(
        AccountState(try #require(try await place.run { store, _ in try await store.account(id("kept")) }))))
    try await place.run { store, registry in
      // As a clock that was an hour ahead has left it.
      try await store.write([.putItem(ahead.item)], events: [])
      let log = place.folder.path + "/ends.log"
      let text = try String(contentsOfFile: log, encoding: .utf8)
      try (text + "removal \(ahead.item.payload)\n").write(toFile: log, atomically: false, encoding: .utf8)
      _ = try await registry.closeAccount(try #require(try await registry.account(id("kept"))), now: start)
    }
    try await place.run { store, _ in
      let kept = try await store.account(id("kept"))
      #expect(kept?.state == .disabled && store.reapplied.isEmpty, "\(store.reapplied)")
    }
  }

  /// The only way in: without its item, its user could not sign in.
  @Test(arguments: Kind.allCases) func `comes back if it was given back, like an identity that is linked again`(
    kind: Kind
  ) async throws {
    let place = try Place(kind)
    let (first, second) = (
      ExternalIdentity(issuer: "https://idp.example.org", subject: "1"),
      ExternalIdentity(issuer: "https://idp.example.org", subject: "2")
    )
    func link(_ identity: ExternalIdentity) -> StoredItem { LinkedIdentity(identity, of: id("ada"), at: start).item }
    func unlink(_ gone: ExternalIdentity, for rest: ExternalIdentity, in store: any ServerStore) async throws {
      var record = try #require(try await store.account(id("ada")))
      record.identity = rest
      let item = try #require(try await store.item(link(gone).id))
      try await store.write([.replaceAccount(record, expecting: record.revision), .removeItem(item)], events: [])
    }
    try await place.run { store, _ in
      let ada = AccountRecord(
        id: id("ada"), email: nil, identity: first, username: "Ada", passwordHash: nil, createdAt: start)
      try await store.write(
        [.createAccount(ada), .createItem(link(first)), .createItem(link(second))], events: [])
    }
    try place.backUp()
    try await place.run { store, _ in
      try await unlink(first, for: second, in: store)
      try await store.write([.createItem(link(first))], events: [])
      try await unlink(second, for: first, in: store)
    }
    try place.restore()
    try await place.run { store, registry in
      let ada = try #require(try await registry.account(identity: first))
      #expect(try await registry.identities(of: ada).map(\.identity) == [first])
    }
  }

  @Test func `by two nodes is settled by the later one`() async throws {
    let place = try Place(.postgres)
    let other = try Folder()
    try await place.run(fill)
    for name in ["keys.json"] {
      try FileManager.default.copyItem(atPath: place.folder.path + "/" + name, toPath: other.path + "/" + name)
    }
    try place.backUp()
    func node<Value>(_ folder: Folder, _ body: (PostgresRegistryStore, Registry) async throws -> Value) async throws
      -> Value
    {
      let (store, keys) = try await place.database.node(folder.path).open()
      defer { store.release() }
      return try await body(store, Registry(store: store, mint: TokenMint(keys.master)))
    }
    // One disables, then the other enables: its log alone has the last word.
    try await node(other) { _, registry in
      _ = try await registry.closeAccount(try #require(try await registry.account(id("kept"))), now: later)
    }
    try await node(place.folder) { _, registry in
      _ = try await registry.reopenAccount(try #require(try await registry.account(id("kept"))), now: later)
    }
    try place.restore()
    for folder in [place.folder, other] {
      try await node(folder) { store, _ in
        let kept = try await store.account(id("kept"))
        #expect(kept?.state == .active)
        #expect(store.reapplied.disabledAccounts == 0, "\(store.reapplied)")
      }
    }
  }
}
#endif
