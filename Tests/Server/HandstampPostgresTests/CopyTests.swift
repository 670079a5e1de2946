#if PostgreSQL
import Foundation
import HandstampCore
import HandstampPostgres
import HandstampRegistry
import HandstampSQLite
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Moving sessions` {
  private let database: TestDatabase
  private let folder: Folder
  private var server: ServerFolder { ServerFolder(path: folder.path) }

  init() throws {
    database = try PostgresCluster.shared.get().newDatabase()
    folder = try Folder()
  }

  /// A SQLite store with rows of every table.
  private func fill() async throws {
    let store = try server.open().store
    let item = StoredItem(
      id: StoredItemID(.device, "a"), kind: .device, subject: "ada", createdAt: Samples.start,
      expiresAt: Samples.start.advanced(by: .seconds(9)))
    let token = OneTimeTokenRecord(
      id: OneTimeTokenID(of: Secret("code"), purpose: .signUp), purpose: .signUp, subject: "ada@example.org",
      createdAt: Samples.start, expiresAt: Samples.start.advanced(by: .seconds(9)))
    let changes: [RegistryChange] = [
      .createAccount(Samples.account), .createItem(item), .createOneTimeToken(token),
      .noteClock(ClockNote(at: Samples.start)),
      .audit(AuditedAction(at: Samples.start, .accountCreated, by: .server())),
    ]
    let sessions = (0..<2500 as Range<UInt64>).map { RegistryChange.createSession(Samples.session($0)) }
    try await store.write(changes + sessions, events: [Samples.established(Samples.session(1))])
    var changed = Samples.session(7)
    changed.counter = 1
    changed.pushToken = Secret("push")
    try await store.write([.replaceSession(changed, expecting: 0)], events: [])
    try store.close()
  }

  private func move(failingAfter limit: Int = .max) async throws(RegistryOpenError) -> [StoreCopy.Summary] {
    let server = server
    let database = PostgresDatabase(try PostgresAddress(database.url), folder: folder.path)
    return try await database.withMove { target throws(RegistryOpenError) in
      try server.move(to: Failing(base: target, limit: limit), keys: nil)
    }
  }

  /// Moves back, to a folder with the same keys.
  private func moveBack(to other: Folder) async throws(RegistryOpenError) -> [StoreCopy.Summary] {
    let target = ServerFolder(path: other.path)
    let database = PostgresDatabase(try PostgresAddress(database.url), folder: folder.path)
    return try await database.withMove { source throws(RegistryOpenError) in try source.move(to: target, keys: nil) }
  }

  private func withKeys() throws -> Folder {
    let other = try Folder()
    try FileManager.default.copyItem(atPath: folder.path + "/keys.json", toPath: other.path + "/keys.json")
    return other
  }

  @Test func `to PostgreSQL and back moves every row, and leaves one database that serves`() async throws {
    try await fill()
    let there = try await move()
    let counts = Dictionary(uniqueKeysWithValues: there.map { ($0.table, $0.count) })
    #expect(
      counts == [
        "key_check": 1, "account": 1, "session": 2500, "one_time_token": 1, "stored_item": 1, "clock": 1, "event": 1,
        "audit": 1,
      ])
    let moved = try #require(#expect(throws: RegistryOpenError.self) { try server.open() })
    #expect(moved.hint.contains("--database"))
    // Nor may an empty one take its place.
    let keys = try #require(try server.keyFile.load())
    #expect(throws: moved) { try server.createDatabase(keys: keys) }
    let store = try await database.node(folder.path).open().store
    #expect(try await store.session(Samples.session(7).id)?.pushToken == Secret("push"))
    try await store.write([], events: [Samples.established(Samples.session(1))])
    #expect(try await store.events(after: .zero, account: nil, limit: 9).map(\.id.rawValue) == [1, 2])
    let other = try withKeys()
    let back = ServerFolder(path: other.path)
    _ = try await moveBack(to: other)
    // Also a server that runs has lost it.
    await #expect(throws: RegistryStoreError.self) { try await store.session(Samples.session(7).id) }
    await #expect(throws: RegistryStoreError.self) { try await store.write([], events: []) }
    try store.close()
    await #expect(throws: RegistryOpenError.self) { try await database.node(folder.path).open() }
    let last = try back.open().store
    #expect(try await last.counts().liveSessions == 2500)
    #expect(try await last.lastEventID() == EventID(rawValue: 2))
    #expect(try await last.session(Samples.session(7).id)?.counter == 1)
    try last.close()
    // There is one copy, and not a second one elsewhere.
    let third = try withKeys()
    await #expect(throws: CopyMark.again) { try await moveBack(to: third) }
    await #expect(throws: RegistryOpenError.self) { try await move() }
  }

  @Test func `that fails at its end leaves one database that serves`() async throws {
    try await fill()
    _ = try await move()
    let other = try withKeys()
    let opened = try await database.node(folder.path).open().store
    opened.release()
    // The last statement of the copy waits for a row until it gives up.
    try database.sql(
      """
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.state LIKE 'moved%' THEN RAISE EXCEPTION 'no'; END IF; RETURN NEW; END $$;
      CREATE TRIGGER refusal BEFORE UPDATE ON handstamp.instance FOR EACH ROW EXECUTE FUNCTION refuse()
      """)
    await #expect(throws: RegistryOpenError.self) { try await moveBack(to: other) }
    let unfinished = #expect(throws: RegistryOpenError.self) { try ServerFolder(path: other.path).openExisting() }
    #expect(unfinished?.hint.contains("run the same handstamp-server admin copy again") == true)
    let store = try await database.node(folder.path).open().store
    #expect(try await store.counts().liveSessions == 2500)
    store.release()
    try database.sql("DROP TRIGGER refusal ON handstamp.instance")
    #expect(try await moveBack(to: other).first { $0.table == "session" }?.count == 2500)
  }

  @Test func `that was interrupted goes on, and no server starts before its end`() async throws {
    try await fill()
    await #expect(throws: RegistryOpenError.unavailable("interrupted")) { try await move(failingAfter: 3) }
    let part = try database.sql("SELECT count(*) FROM handstamp.session")
    #expect(part == "1000")
    await #expect(throws: RegistryOpenError.self) { try await database.node(folder.path).open() }
    #expect(try await move().first { $0.table == "session" }?.count == 2500)
    let store = try await database.node(folder.path).open().store
    #expect(try await store.counts().liveSessions == 2500)
    store.release()
  }

  @Test func `that was interrupted, from a server that was used since, is refused in the end`() async throws {
    try await fill()
    await #expect(throws: RegistryOpenError.unavailable("interrupted")) { try await move(failingAfter: 3) }
    let store = try server.open().store
    let first = try #require(
      try await store.sessions(of: Samples.ada).min { $0.session.bytes.lexicographicallyPrecedes($1.session.bytes) })
    let end = SessionEnd(at: Samples.start, reason: .signedOut)
    try await store.write([.endSession(first.id, end)], events: [])
    try store.close()
    do throws(RegistryOpenError) {
      _ = try await move()
      Issue.record("a session that has ended would be alive in the copy")
    } catch {
      #expect("\(error)".contains("differ in the table session"))
    }
    // The source is as it was.
    #expect(try await server.open().store.session(first.id)?.end == end)
  }

  @Test func `that was interrupted, from a server that has noted the time since, says what to do`() async throws {
    try await fill()
    await #expect(throws: RegistryOpenError.unavailable("interrupted")) { try await move(failingAfter: 8) }
    let store = try server.open().store
    let note = try #require(try await store.clockNote())
    try await store.write(
      [.noteClock(ClockNote(at: note.at, revision: note.revision + 1))], events: [])
    try store.close()
    await #expect(throws: StoreCopy.stale) { try await move() }
    try database.sql("DROP SCHEMA handstamp CASCADE")
    #expect(try await move().first { $0.table == "session" }?.count == 2500)
  }

  @Test func `to a database that is not empty is refused`() async throws {
    try await fill()
    let other = try Folder()
    let store = try await database.node(other.path).open().store
    store.release()
    await #expect(throws: RegistryOpenError.self) { try await move() }
    #expect(try server.open().store.reapplied.sessions == 0)
  }

  /// A store that cannot be written after some batches.
  private struct Failing: MovedStore {
    var base: any MovedStore
    var limit: Int

    func moving(
      keys: ServerKeys?,
      _ body: (
        any CopiedStore, ServerKeys, CopyMark, _ complete: () throws(RegistryOpenError) -> Void
      ) throws(RegistryOpenError) -> Void
    ) throws(RegistryOpenError) { try base.moving(keys: keys, body) }

    func receiving(
      keys: ServerKeys, mark: CopyMark, _ body: (any CopiedStore) throws(RegistryOpenError) -> Void
    ) throws(RegistryOpenError) {
      try base.receiving(keys: keys, mark: mark) { target throws(RegistryOpenError) in
        try body(FailingRows(base: target, left: limit))
      }
    }
  }

  private final class FailingRows: CopiedStore {
    private let base: any CopiedStore
    private var left: Int

    init(base: any CopiedStore, left: Int) {
      self.base = base
      self.left = left
    }

    func rows(of table: StoredTable, after key: ColumnValue?, limit: Int) throws(RegistryOpenError) -> [[ColumnValue]] {
      try base.rows(of: table, after: key, limit: limit)
    }
    func counters() throws(RegistryOpenError) -> StoreCounters { try base.counters() }
    func insert(_ rows: [[ColumnValue]], into table: StoredTable) throws(RegistryOpenError) {
      left -= 1
      guard left >= 0 else { throw .unavailable("interrupted") }
      try base.insert(rows, into: table)
    }
    func set(_ counters: StoreCounters) throws(RegistryOpenError) { try base.set(counters) }
  }
}
#endif
