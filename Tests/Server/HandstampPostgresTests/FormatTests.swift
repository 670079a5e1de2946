#if PostgreSQL
import Foundation
import HandstampCore
import HandstampPostgres
import HandstampRegistry
import Testing

/// `Tests/Fixtures/README.md` says how it is made, and when.
@Suite(.timeLimit(.minutes(10))) struct `Format 1 of a PostgreSQL database` {
  private static let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
    .appendingPathComponent("Fixtures/format-1/postgres").path
  private static var dump: String { fixture + ".sql" }
  private static let remake: Comment =
    "make the fixture again, in the same commit: HANDSTAMP_UPDATE=1 make test FILTER='Format 1'"

  private let cluster: PostgresCluster
  private let ended = Samples.session(3)
  private let item = StoredItem(
    id: StoredItemID(.device, "a"), kind: .device, subject: "ada", createdAt: Samples.start,
    expiresAt: Samples.start.advanced(by: .seconds(9)))
  private let token = OneTimeTokenRecord(
    id: OneTimeTokenID(of: Secret("code"), purpose: .signUp), purpose: .signUp, subject: "ada@example.org",
    payload: "a=b", createdAt: Samples.start, expiresAt: Samples.start.advanced(by: .seconds(9)))

  init() throws { cluster = try PostgresCluster.shared.get() }

  /// A session of a client, and one of a browser that waits for its first use.
  private var rows: [SessionRow] {
    let first = Samples.session(1)
    let app = SessionRow(
      session: first.session, account: first.account, device: first.device, kind: .keyed, persistence: .ephemeral,
      client: SessionClient(id: "app", scope: "openid", audience: "https://api.example.org", browser: DeviceID("b")),
      counter: 1, ring: KeyRing([.keyed(KeyMark(rawValue: 7))]), createdAt: Samples.start,
      methods: AuthenticationMethods(text: "pwd otp mfa", asked: .multiFactor), dpopThumbprint: "thumb",
      pushToken: Secret("push"))
    var browser = Samples.session(2)
    (browser.kind, browser.counter) = (.browser, 2)
    browser.cookies = CookieRange(oldest: 1, provenAt: Samples.start, isReplaced: true)
    browser.pending = PendingSession(canBeForgotten: true, replaces: [app.id])
    return [app, browser]
  }

  private func make() async throws {
    try? FileManager.default.removeItem(atPath: Self.fixture)
    try FileManager.default.createDirectory(atPath: Self.fixture, withIntermediateDirectories: true)
    let database = try cluster.newDatabase()
    let store = try await database.node(Self.fixture).open().store
    try await store.write(
      [
        .createAccount(Samples.account), .createItem(item), .createOneTimeToken(token),
        .noteClock(ClockNote(at: Samples.start)), .createSession(ended),
        .audit(AuditedAction(at: Samples.start, .accountCreated, by: .server())),
      ] + rows.map { .createSession($0) }, events: [Samples.established(ended)])
    try await store.write([.endSession(ended.id, SessionEnd(at: Samples.start, reason: .revoked))], events: [])
    store.release()
    try FileManager.default.removeItem(atPath: Self.fixture + "/opening.lock")
    let text = try PostgresCluster.run(
      "pg_dump", "-h", cluster.folder, "-p", "5432", "-U", "postgres", "-d", database.name, "-n", "handstamp",
      "--no-owner", "--inserts")
    // Without the lines that other versions of the server and of psql do not know.
    let lines = text.split(separator: "\n").filter { line in
      !["--", "SET ", "SELECT pg_catalog.set_config", "\\"].contains { line.hasPrefix($0) }
    }
    try (lines.joined(separator: "\n") + "\n").write(toFile: Self.dump, atomically: true, encoding: .utf8)
  }

  private func tables(of database: TestDatabase) throws -> String {
    try database.sql(
      """
      SELECT table_name || ' ' || column_name || ' ' || data_type || ' ' || is_nullable
        || coalesce(' ' || generation_expression, '') AS line
      FROM information_schema.columns WHERE table_schema = 'handstamp'
      UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'handstamp'
      UNION ALL SELECT conrelid::regclass::text || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
      WHERE connamespace = 'handstamp'::regnamespace
      ORDER BY line
      """)
  }

  @Test func `is read, and has the tables of now`() async throws {
    if ProcessInfo.processInfo.environment["HANDSTAMP_UPDATE"] == "1" { try await make() }
    let (folder, other) = (try Folder(), try Folder())
    let dump = try #require(try? String(contentsOfFile: Self.dump, encoding: .utf8), Self.remake)
    for name in try FileManager.default.contentsOfDirectory(atPath: Self.fixture) {
      try FileManager.default.copyItem(atPath: "\(Self.fixture)/\(name)", toPath: "\(folder.path)/\(name)")
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(folder.path)/\(name)")
    }
    let (database, new) = (try cluster.newDatabase(), try cluster.newDatabase())
    try database.sql(dump)
    let store = try await database.node(folder.path).open().store
    #expect(store.reapplied == Reapplied() && store.unreadableEnds == 0)
    #expect(try await store.account(Samples.ada) == Samples.account)
    for row in rows { #expect(try await store.session(row.id) == row) }
    #expect(try await store.session(ended.id)?.end == SessionEnd(at: Samples.start, reason: .revoked))
    #expect(try await store.item(item.id) == item)
    #expect(try await store.oneTimeToken(token.id) == token)
    #expect(try await store.auditedActions(after: 0, about: nil, limit: 9).map(\.audited.action) == ["account.created"])
    #expect(try await store.lastEventID() == EventID(rawValue: 1))
    #expect(try await store.clockNote()?.at == Samples.start)
    store.release()
    try await new.node(other.path).open().store.release()
    #expect(try tables(of: database) == tables(of: new), Self.remake)
  }
}
#endif
