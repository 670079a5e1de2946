#if Server
import Foundation
import GRDB
import HandstampCore
import HandstampRegistry
import HandstampSQLite
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A database from before format 1` {
  @Test func `is refused with the way out, and left as it is`() async throws {
    let folder = try Folder()
    let (fresh, keys) = try folder.server.open()
    try fresh.close()
    let path = folder.server.databasePath
    for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) }
    let previous = try DatabaseQueue(path: path)
    try await previous.write { db in
      try db.execute(
        sql: """
          CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
          INSERT INTO grdb_migrations VALUES ('1'), ('2');
          CREATE TABLE instance (only INTEGER PRIMARY KEY, id TEXT NOT NULL);
          CREATE TABLE ticket (id BLOB NOT NULL PRIMARY KEY);
          INSERT INTO ticket VALUES (x'00');
          """)
      try db.execute(sql: "INSERT INTO instance VALUES (1, ?)", arguments: [keys.instance.rawValue])
    }
    try previous.close()
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let refused = RegistryOpenError.draftFormat(path: path)
    #expect(refusal(folder.server) == refused)
    #expect(throws: refused) { try folder.server.openExisting() }
    #expect(throws: refused) { try folder.server.createDatabase(keys: keys) }
    let other = try Folder()
    #expect(throws: refused) { try other.server.restore(from: folder.path) }
    for command in ["admin export users.jsonl --with-secrets", "admin import users.jsonl --from handstamp"] {
      #expect(refused.hint.contains(command))
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
  }
}

/// `Tests/Fixtures/README.md` says how it is made, and when.
@Suite(.timeLimit(.minutes(10))) struct `Format 1 of a server’s folder` {
  private static let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
    .appendingPathComponent("Fixtures/format-1/sqlite").path
  private static let remake: Comment =
    "make the fixture again, in the same commit: HANDSTAMP_UPDATE=1 make test FILTER='Format 1'"

  private func make() async throws {
    try? FileManager.default.removeItem(atPath: Self.fixture)
    try FileManager.default.createDirectory(atPath: Self.fixture, withIntermediateDirectories: true)
    let store = try ServerFolder(path: Self.fixture).open().store
    try await FormatSamples.write(to: store)
    try store.close()
    for name in ["opening.lock", "registry.sqlite-wal", "registry.sqlite-shm"] {
      try? FileManager.default.removeItem(atPath: "\(Self.fixture)/\(name)")
    }
  }

  private func tables(of folder: Folder) throws -> [String] {
    try DatabaseQueue(path: folder.server.databasePath).read { db in
      try String.fetchAll(db, sql: "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
    }
  }

  @Test func `is read, and has the tables of now`() async throws {
    if ProcessInfo.processInfo.environment["HANDSTAMP_UPDATE"] == "1" { try await make() }
    let (folder, new) = (try Folder(), try Folder())
    let names = (try? FileManager.default.contentsOfDirectory(atPath: Self.fixture)) ?? []
    try #require(names.contains("registry.sqlite"), Self.remake)
    for name in names {
      try FileManager.default.copyItem(atPath: "\(Self.fixture)/\(name)", toPath: "\(folder.path)/\(name)")
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(folder.path)/\(name)")
    }
    let store = try folder.server.open().store
    #expect(store.reapplied == Reapplied() && store.unreadableEnds == 0)
    #expect(try await FormatSamples.missing(in: store) == [])
    try store.close()
    try new.server.open().store.close()
    #expect(try tables(of: folder) == tables(of: new), Self.remake)
  }
}
#endif
