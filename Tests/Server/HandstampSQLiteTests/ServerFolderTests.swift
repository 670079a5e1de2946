#if Server
import Foundation
import GRDB
import HandstampCore
import HandstampRegistry
import HandstampSQLite
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A server’s folder` {
  let folder: Folder
  var keys: String { folder.path + "/keys.json" }
  var database: String { folder.path + "/registry.sqlite" }

  init() throws { folder = try Folder() }

  /// Opens the folder once, so that its files exist, and closes it again.
  func fill() async throws {
    let store = try folder.server.open().store
    try await store.write([.createAccount(ada)], events: [])
    try store.close()
  }

  func edit(_ change: (inout [String: Any]) -> Void) throws {
    let data = try Data(contentsOf: URL(fileURLWithPath: keys))
    var object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    change(&object)
    try write(try JSONSerialization.data(withJSONObject: object))
  }

  func write(_ data: Data) throws {
    try data.write(to: URL(fileURLWithPath: keys))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: keys)
  }

  @Test func `is created by the first server, and keeps its keys`() async throws {
    let inner = ServerFolder(path: folder.path + "/server")
    let first = try inner.open()
    #expect(try mode(inner.path) == 0o700)
    let second = try inner.open()
    #expect(second.keys.instance == first.keys.instance)
    #expect(second.keys.master.keys == first.keys.master.keys)
    #expect(try inner.keyFile.load()?.master.current == first.keys.master.current)
    let names = try FileManager.default.contentsOfDirectory(atPath: inner.path).sorted()
    #expect(
      names == [
        "ends.log", "keys.json", "opening.lock", "registry.sqlite", "registry.sqlite-shm", "registry.sqlite-wal",
      ])
    let stranger = try ServerFolder(path: folder.path + "/stranger").open()
    #expect(stranger.keys.instance != first.keys.instance)
    #expect(stranger.keys.master.keys != first.keys.master.keys)
  }

  @Test func `opened concurrently has one set of keys`() async throws {
    let server = folder.server
    let instances = try await withThrowingTaskGroup(of: InstanceID.self) { group in
      for _ in 0..<8 { group.addTask { try server.open().keys.instance } }
      return try await group.reduce(into: Set<InstanceID>()) { $0.insert($1) }
    }
    #expect(instances.count == 1)
  }

  @Test func `without its key file is refused, and stays unchanged`() async throws {
    try await fill()
    try FileManager.default.removeItem(atPath: keys)
    let before = try Data(contentsOf: URL(fileURLWithPath: database))
    #expect(refusal(folder.server) == .keyFileMissing(path: keys))
    #expect(!FileManager.default.fileExists(atPath: keys))
    #expect(try Data(contentsOf: URL(fileURLWithPath: database)) == before)
  }

  @Test func `without its database is refused, unless it never had one`() async throws {
    try await fill()
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: database + suffix) }
    #expect(refusal(folder.server) == .databaseMissing(path: database))
    #expect(!FileManager.default.fileExists(atPath: database))
    try edit { $0["inUse"] = false }
    #expect(refusal(folder.server) == nil)
  }

  @Test func `whose database is empty is refused, and stays unchanged`() async throws {
    try await fill()
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: database + suffix) }
    #expect(FileManager.default.createFile(atPath: database, contents: Data()))
    #expect(refusal(folder.server) == .databaseEmpty(path: database))
    #expect(FileManager.default.contents(atPath: database) == Data())
    // A valid SQLite file without our tables.
    let other = try DatabaseQueue(path: database)
    try await other.write { db in try db.execute(sql: "CREATE TABLE strange (id INTEGER)") }
    try other.close()
    #expect(refusal(folder.server) == .databaseEmpty(path: database))
  }

  @Test func `copied without the write-ahead log is complete only if the server was closed`()
    async throws
  {
    let copy = try Folder()
    func copyDatabase() throws {
      for name in ["keys.json", "registry.sqlite"] {
        try? FileManager.default.removeItem(atPath: copy.path + "/" + name)
        try FileManager.default.copyItem(atPath: folder.path + "/" + name, toPath: copy.path + "/" + name)
      }
    }
    let store = try folder.server.open().store
    try await store.write([.createAccount(ada)], events: [])
    try copyDatabase()
    #expect(refusal(copy.server) == .databaseEmpty(path: copy.path + "/registry.sqlite"))
    try store.close()
    try copyDatabase()
    let copied = try copy.server.open().store
    #expect(try await copied.account(ada.id) == ada)
  }

  @Test func `closed while another server has it open reports that it is incomplete`() async throws {
    var hasty = folder.server
    hasty.patience = .milliseconds(100)
    let (first, second) = try (hasty.open().store, folder.server.open().store)
    try await first.write([.createAccount(ada)], events: [])
    // An active reader keeps the log from being emptied.
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    let reader = try DatabaseQueue(path: database, configuration: configuration)
    try await reader.writeWithoutTransaction { db in
      try db.execute(sql: "BEGIN")
      _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM account")
    }
    try await second.write([.createSession(session(1))], events: [])
    #expect(throws: RegistryStoreError.self) { try first.close() }
    try await reader.writeWithoutTransaction { db in try db.execute(sql: "COMMIT") }
    try second.close()
  }

  @Test func `accepts keys kept elsewhere, once its database exists`() async throws {
    let keys = try ServerKeys.drawn()
    let server = folder.server
    #expect(throws: RegistryOpenError.databaseMissing(path: database)) { try server.open(keys: keys) }
    #expect(!FileManager.default.fileExists(atPath: database))
    try server.createDatabase(keys: keys)
    let store = try server.open(keys: keys).store
    try await store.write([.createAccount(ada)], events: [])
    try store.close()
    // A second time changes nothing.
    try server.createDatabase(keys: keys)
    #expect(try await server.open(keys: keys).store.account(ada.id) == ada)
    let strange = try ServerKeys.drawn()
    #expect(throws: RegistryOpenError.self) { try server.open(keys: strange) }
    #expect(throws: RegistryOpenError.self) { try server.createDatabase(keys: strange) }
    for suffix in ["-wal", "-shm", ""] { try? FileManager.default.removeItem(atPath: database + suffix) }
    #expect(FileManager.default.createFile(atPath: database, contents: Data()))
    #expect(throws: RegistryOpenError.databaseEmpty(path: database)) { try server.open(keys: keys) }
  }

  @Test func `reads keys from a key file's text`() async throws {
    try await fill()
    let text = Secret(try String(contentsOfFile: keys, encoding: .utf8))
    let known = try folder.server.open().keys
    #expect(try KeyFile.keys(text: text, named: "KEYS").master.keys == known.master.keys)
    #expect(throws: RegistryOpenError.keyFileInvalid(path: "KEYS", "it is not a key file of format 1")) {
      try KeyFile.keys(text: Secret("{}"), named: "KEYS")
    }
  }

  @Test func `with another server’s keys is refused`() async throws {
    try await fill()
    let other = try Folder()
    let strange = try other.server.open()
    try strange.store.close()
    try write(try Data(contentsOf: URL(fileURLWithPath: other.path + "/keys.json")))
    guard case .wrongKeys(database, let why) = refusal(folder.server) else {
      Issue.record("opened with another server’s keys")
      return
    }
    #expect(why.contains(strange.keys.instance.rawValue))
  }

  @Test func `with a key replaced under the same name is refused`() async throws {
    try await fill()
    try edit { $0["keys"] = ["k1": Data(repeating: 7, count: 32).base64EncodedString()] }
    #expect(refusal(folder.server) == .wrongKeys(path: database, "the key k1 has changed"))
  }

  @Test func `accepts an added key, and drops a retired one`() async throws {
    try await fill()
    let added = Data(repeating: 7, count: 32).base64EncodedString()
    try edit { object in
      var keys = object["keys"] as? [String: String] ?? [:]
      keys["k2"] = added
      object["keys"] = keys
      object["current"] = "k2"
    }
    #expect(refusal(folder.server) == nil)
    try edit { $0["keys"] = ["k2": added] }
    #expect(refusal(folder.server) == nil)
    try edit { $0["keys"] = ["k2": Data(repeating: 8, count: 32).base64EncodedString()] }
    #expect(refusal(folder.server) == .wrongKeys(path: database, "the key k2 has changed"))
  }

  @Test(arguments: ["", "{", "[]", "null", "{\"format\":1}", "\0\0\0", "<html>"])
  func `with an invalid key file is refused, and the file is kept`(text: String) async throws {
    try await fill()
    try write(Data(text.utf8))
    #expect(refusal(folder.server) == .keyFileInvalid(path: keys, "it is not a key file of format 1"))
    #expect(try Data(contentsOf: URL(fileURLWithPath: keys)) == Data(text.utf8))
  }

  @Test func `with a key file without its list of retired keys is refused, and told of the way`() async throws {
    try await fill()
    try edit { $0["retired"] = nil }
    let refused = refusal(folder.server)
    #expect(refused == .keyFileInvalid(path: keys, "it is not a key file of format 1"))
    // It cannot work for a file that is damaged.
    #expect(refused?.hint.contains("or if another version wrote it, run with that one: handstamp admin export") == true)
  }

  @Test func `with a key file in a newer format or with unusable keys is refused`() async throws {
    try await fill()
    try edit { $0["format"] = 2 }
    #expect(refusal(folder.server) == .keyFileInvalid(path: keys, "its format 2 is unknown"))
    let whole = try Data(contentsOf: URL(fileURLWithPath: keys))
    try write(Data(#"{"format":2}"#.utf8))
    #expect(refusal(folder.server) == .keyFileInvalid(path: keys, "its format 2 is unknown"))
    try write(whole)
    try edit {
      $0["format"] = 1
      $0["current"] = "k9"
    }
    #expect(refusal(folder.server) == .keyFileInvalid(path: keys, "it does not contain the current key k9"))
    try edit {
      $0["current"] = "k1"
      $0["keys"] = ["k1": Data(repeating: 1, count: 31).base64EncodedString()]
    }
    #expect(refusal(folder.server) == .keyFileInvalid(path: keys, "the key k1 is too short"))
  }

  @Test func `with a key file that others can read is refused`() async throws {
    try await fill()
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: keys)
    #expect(refusal(folder.server) == .keyFileOpenToOthers(path: keys))
  }

  @Test func `that every user of the machine can write to is refused, as is such a database`() async throws {
    try await fill()
    for path in [folder.server.path, database] {
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
      try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: path)
      #expect(refusal(folder.server) == .writableByAnyone(path: path))
      try FileManager.default.setAttributes([.posixPermissions: try #require(mode)], ofItemAtPath: path)
    }
    #expect(refusal(folder.server) == nil)
  }

  @Test func `with a database of a newer version, or an invalid one, is refused`() async throws {
    try await fill()
    let other = try DatabaseQueue(path: database)
    try await other.write { db in try db.execute(sql: "INSERT INTO grdb_migrations VALUES ('from the future')") }
    try other.close()
    #expect(refusal(folder.server) == .newerFormat(path: database))
    for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: database + suffix) }
    let noise = Data(repeating: 0x5A, count: 8192)
    try noise.write(to: URL(fileURLWithPath: database))
    #expect(refusal(folder.server) == .corrupt(path: database))
    #expect(try Data(contentsOf: URL(fileURLWithPath: database)) == noise)
  }

  @Test func `that cannot be created is unavailable`() throws {
    try Data().write(to: URL(fileURLWithPath: folder.path + "/file"))
    let inner = folder.path + "/file/server"
    #expect(refusal(ServerFolder(path: inner)) == .unavailable("cannot create \(inner): Not a directory"))
  }

  @Test func `holds the secret only in its key file`() async throws {
    try await fill()
    let text = try String(contentsOfFile: keys, encoding: .utf8)
    let opened = try folder.server.open()
    #expect(text.contains(opened.keys.instance.rawValue))
    let secret = try #require(opened.keys.master.keys.values.first).withExposedBytes { Data($0) }
    #expect(text.contains(secret.base64EncodedString()))
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name != "keys.json" {
      let data = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/" + name))
      #expect(data.range(of: secret) == nil && data.range(of: Data(secret.base64EncodedString().utf8)) == nil)
    }
    #expect("\(opened.keys.master)".contains(secret.base64EncodedString()) == false)
  }
}
#endif
