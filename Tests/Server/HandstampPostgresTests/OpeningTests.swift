#if PostgreSQL
import Foundation
import HandstampCore
@testable import HandstampPostgres
import HandstampRegistry
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Opening a PostgreSQL database` {
  private let cluster: PostgresCluster
  private let folder: Folder

  init() throws {
    cluster = try PostgresCluster.shared.get()
    folder = try Folder()
  }

  /// The words and the advice with which a database is refused.
  private func refusal(
    _ url: String, keys: ServerKeys? = nil, in folder: Folder? = nil
  ) async throws -> (RegistryOpenError, text: String) {
    do throws(RegistryOpenError) {
      let database = PostgresDatabase(try PostgresAddress(url), folder: (folder ?? self.folder).path)
      let store = try await database.open(keys: keys).store
      store.release()
    } catch {
      return (error, "\(error). hint: \(error.hint)")
    }
    throw Opened()
  }

  private struct Opened: Error {}

  @Test(arguments: [
    ("postgresql://[::1", "not valid", "psql"), ("mysql://localhost/x", "not valid", "postgresql://"),
    ("postgresql://127.0.0.1:1/x", "refused", "check host and port"),
    ("postgresql:///x?host=/nonexistent", "No such file", "check host and port"),
    ("postgresql:///x?sslmode=perhaps", "sslmode", "sslmode"),
  ])
  func `refuses an address that leads nowhere`(url: String, words: String, hint: String) async throws {
    let text = try await refusal(url).text
    #expect(text.contains(words) && text.contains(hint), "\(text)")
  }

  @Test func `names a database that is missing, and never the password`() async throws {
    let text = try await refusal("postgresql://postgres:geheim@/nowhere?host=\(cluster.folder)").text
    #expect(text.contains("\"nowhere\" does not exist") && text.contains("-O USER nowhere"), "\(text)")
    #expect(!text.contains("geheim") && !text.contains("LOCATION") && !text.contains("3D000"))
  }

  @Test(arguments: [
    "postgresql://u:Secr%et@h/db", "postgresql://u:Secr/et@h", "postgresql://u:Secret@[::1]x",
    "host=h password=Secr et dbname=x", "postgresql://u:1/Secret@h", "postgresql://u:p@Secret@h/d",
  ])
  func `never quotes an address that may have a password in the wrong place`(url: String) async throws {
    let text = try await refusal(url).text
    #expect(!text.contains("Secr") && !text.contains("et@") && text.contains("not valid"), "\(text)")
  }

  @Test func `goes on to the next server if the first one is silent`() async throws {
    let silent = try CuttingProxy(before: cluster)
    silent.ignore()
    defer { silent.close() }
    let database = try cluster.newDatabase()
    let url = "postgresql://postgres@/\(database.name)?host=\(silent.folder),\(cluster.folder)"
    let store = try await PostgresDatabase(try PostgresAddress(url), folder: folder.path).open().store
    #expect(try await store.lastEventID() == .zero)
    store.release()
  }

  @Test func `refuses a wrong password`() async throws {
    let cluster = try PostgresCluster()
    try cluster.sql("CREATE USER ada PASSWORD 'right'", in: "postgres")
    try "local all all scram-sha-256\n".write(
      toFile: cluster.folder + "/data/pg_hba.conf", atomically: false, encoding: .utf8)
    try cluster.kill()
    try cluster.start()
    let url = { (password: String) in "postgresql://ada:\(password)@/postgres?host=\(cluster.folder)" }
    let text = try await refusal(url("wrong")).text
    #expect(text.contains("password authentication failed") && text.contains("PGPASSFILE"), "\(text)")
    // The right one leads further: the user may not create the schema.
    let further = try await refusal(url("right")).text
    #expect(further.contains("permission denied") && further.contains("GRANT CREATE"), "\(further)")
  }

  @Test(arguments: [
    ("", "ALTER DATABASE %@ SET default_transaction_read_only = on", "read-only", "primary"),
    ("ENCODING 'SQL_ASCII' TEMPLATE template0", "SELECT 1", "SQL_ASCII", "--encoding=UTF8"),
    ("", "CREATE SCHEMA handstamp CREATE TABLE session (id int)", "belongs to something else", "another database"),
  ])
  func `refuses a database that cannot keep its promises`(
    options: String, change: String, words: String, hint: String
  ) async throws {
    let database = try cluster.newDatabase(options)
    try database.sql(change.replacingOccurrences(of: "%@", with: database.name))
    let text = try await refusal(database.url).text
    #expect(text.contains(words) && text.contains(hint), "\(text)")
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/keys.json"))
  }

  @Test func `waits for the disk whatever the database says`() async throws {
    let database = try cluster.newDatabase()
    try database.sql("ALTER DATABASE \(database.name) SET synchronous_commit = off")
    let connection = try PostgresConnection(try PostgresAddress(database.url), until: .now + .seconds(240))
    let setting = PostgresStatement("SELECT current_setting('synchronous_commit')")
    #expect(try connection.run(setting, until: .now + .seconds(240)).text == "on")
  }

  @Test func `refuses a server whose certificate is not trusted or has expired`() async throws {
    let port = 20_000 + Int.random(in: 0..<10_000)
    let cluster = try PostgresCluster("listen_addresses=127.0.0.1", port: port)
    // An authority, and a certificate for localhost that was valid on one day of 2020.
    let make = """
      cd '\(folder.path)'
      openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=ca -days 2
      openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost
      faketime '2020-01-01 12:00:00' openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 1 -out server.crt
      install -m 644 server.crt '\(cluster.folder)/data/server.crt'
      install -m 600 -o "$(stat -c %U '\(cluster.folder)/data')" server.key '\(cluster.folder)/data/server.key'
      """
    try PostgresCluster.run("sh", "-ec", make)
    try cluster.sql("ALTER SYSTEM SET ssl = on", in: "postgres")
    try cluster.kill()
    try cluster.start()
    let url = "postgresql://postgres@localhost:\(port)/postgres?sslmode=verify-full&sslrootcert=\(folder.path)/"
    let expired = try await refusal(url + "ca.pem").text
    #expect(expired.contains("certificate verify failed") && expired.contains("the dates"), "\(expired)")
    let unknown = try await refusal(url + "server.crt").text
    #expect(unknown.contains("certificate verify failed") && unknown.contains("sslrootcert"), "\(unknown)")
  }

  @Test func `refuses the tables of a later version`() async throws {
    let database = try cluster.newDatabase()
    let (store, _) = try await database.node(folder.path).open()
    store.release()
    try database.sql("INSERT INTO handstamp.format (number) VALUES (999)")
    #expect(try await refusal(database.url).0 == .newerFormat(path: try PostgresAddress(database.url).description))
  }

  @Test func `refuses the tables from before format 1, and leaves them as they are`() async throws {
    let database = try cluster.newDatabase()
    try database.sql(
      """
      CREATE SCHEMA handstamp;
      CREATE TABLE handstamp.migration (version bigint PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());
      CREATE TABLE handstamp.instance (only_one boolean PRIMARY KEY, id text, state text);
      CREATE TABLE handstamp.ticket (id bytea PRIMARY KEY);
      INSERT INTO handstamp.migration (version) VALUES (1), (2), (3), (4), (5), (6), (7);
      INSERT INTO handstamp.instance VALUES (true, 'old', 'serving');
      INSERT INTO handstamp.ticket VALUES ('a')
      """)
    let tables = "SELECT string_agg(relname || ' ' || reltype, ',' ORDER BY relname) FROM pg_class WHERE relkind = 'r'"
    let before = try database.sql(tables)
    let (error, text) = try await refusal(database.url)
    #expect(error == .draftFormat(path: try PostgresAddress(database.url).description))
    #expect(text.contains("admin export users.jsonl --with-secrets") && text.contains("admin import"), "\(text)")
    let node = try database.node(folder.path)
    await #expect(throws: error) { try await node.createTables(keys: try ServerKeys.drawn()) }
    #expect(try database.sql(tables) == before)
    let rows = "SELECT count(*) || ' ' || max(i.id) FROM handstamp.instance i, handstamp.ticket"
    #expect(try database.sql(rows) == "1 old")
  }

  @Test func `refuses keys that are not the database's, and creates none beside one in use`() async throws {
    let database = try cluster.newDatabase()
    let (store, keys) = try await database.node(folder.path).open()
    store.release()
    let other = try Folder()
    #expect(try await refusal(database.url, in: other).0 == .keyFileMissing(path: other.path + "/keys.json"))
    #expect(!FileManager.default.fileExists(atPath: other.path + "/keys.json"))
    let strangers = try ServerKeys.drawn()
    guard case .wrongKeys = try await refusal(database.url, keys: strangers).0 else { throw Opened() }
    // The name of a key with other bytes.
    let changed = ServerKeys(instance: keys.instance, master: strangers.master)
    guard case .wrongKeys = try await refusal(database.url, keys: changed).0 else { throw Opened() }
    // Keys in use, and an empty database: all clients would be signed out.
    let empty = try cluster.newDatabase()
    guard case .tablesMissing = try await refusal(empty.url).0 else { throw Opened() }
  }

  @Test func `by many nodes at once creates the tables once`() async throws {
    let database = try cluster.newDatabase()
    let keys = try ServerKeys.drawn()
    let url = database.url
    let stores = try await withThrowingTaskGroup(of: PostgresRegistryStore.self) { group in
      for _ in 0..<8 {
        group.addTask {
          let folder = try Folder()
          let node = PostgresDatabase(try PostgresAddress(url), folder: folder.path)
          try await node.createTables(keys: keys)
          return try await node.open(keys: keys).store
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(stores.count == 8)
    #expect(try database.sql("SELECT count(*) FROM handstamp.format") == "\(PostgresSchema.format)")
    for store in stores { store.release() }
  }

  @Test func `after an older copy was restored ends what this node has ended since`() async throws {
    let database = try cluster.newDatabase()
    let (store, _) = try await database.node(folder.path).open()
    let (kept, ended) = (Samples.session(1), Samples.session(2))
    try await store.write(
      [.createAccount(Samples.account), .createSession(kept), .createSession(ended)], events: [])
    store.release()
    let copy = database.name + "_copy"
    try cluster.sql("CREATE DATABASE \(copy) TEMPLATE \(database.name)", in: "postgres")
    let again = try await database.node(folder.path).open().store
    let end = SessionEnd(at: Samples.start, reason: .signedOut)
    let note = ClockNote(at: Samples.start)
    try await again.write([.endSession(ended.id, end), .noteClock(note)], events: [])
    again.release()
    // The older copy takes the place of the database.
    try cluster.sql("DROP DATABASE \(database.name)", in: "postgres")
    try cluster.sql("ALTER DATABASE \(copy) RENAME TO \(database.name)", in: "postgres")
    let restored = try await database.node(folder.path).open().store
    #expect(restored.reapplied.sessions == 1)
    #expect(try await restored.session(ended.id)?.end == end)
    #expect(try await restored.session(kept.id)?.end == nil)
    #expect(try await restored.clockNote() == note)
    #expect(try await restored.events(after: .zero, account: nil, limit: 9).map(\.event.session) == [ended.id])
    restored.release()
  }

  @Test func `that is replaced by an older copy while it is used ends what ended since`() async throws {
    let database = try cluster.newDatabase()
    let (store, _) = try await database.node(folder.path).open()
    let ended = Samples.session(2)
    try await store.write(
      [.createAccount(Samples.account), .createSession(ended)], events: [])
    let end = SessionEnd(at: Samples.start, reason: .signedOut)
    try await store.write(
      [.endSession(ended.id, end), .noteClock(ClockNote(at: Samples.start))], events: [])
    // What a promoted standby looks like that lacks the last transactions.
    try database.sql(
      "UPDATE handstamp.session SET ended_at = NULL, end_reason = NULL; DELETE FROM handstamp.clock")
    await #expect(throws: RegistryStoreError.self) { try await store.clockNote() }
    let row = await eventually { try? await store.session(ended.id) }
    #expect(row?.end == end)
    #expect(store.reapplied.sessions == 1)
    #expect(store.replacements == 1)
    #expect(try await store.clockNote()?.at == Samples.start)
    store.release()
  }
}
#endif
