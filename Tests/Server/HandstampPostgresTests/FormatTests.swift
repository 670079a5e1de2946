#if PostgreSQL
import Foundation
import HandstampPostgres
import HandstampRegistry
import HandstampTesting
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

  init() throws { cluster = try PostgresCluster.shared.get() }

  private func make() async throws {
    try? FileManager.default.removeItem(atPath: Self.fixture)
    try FileManager.default.createDirectory(atPath: Self.fixture, withIntermediateDirectories: true)
    let database = try cluster.newDatabase()
    let store = try await database.node(Self.fixture).open().store
    try await FormatSamples.write(to: store)
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
    #expect(try await FormatSamples.missing(in: store) == [])
    store.release()
    try await new.node(other.path).open().store.release()
    #expect(try tables(of: database) == tables(of: new), Self.remake)
  }
}
#endif
