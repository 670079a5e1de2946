#if Server
import Foundation
import GRDB
import HandstampCore
import HandstampRegistry
import Testing

@testable import HandstampSQLite

@Suite(.timeLimit(.minutes(10))) struct `A backup` {
  let folder: Folder
  let backups: Folder
  var target: String { backups.path + "/backup" }
  let later = SessionEnd(at: start.advanced(by: .seconds(1)), reason: .revoked)

  init() throws {
    folder = try Folder()
    backups = try Folder()
  }

  func ended(_ count: Int) -> Reapplied {
    var reapplied = Reapplied()
    reapplied.sessions = count
    return reapplied
  }

  /// Fills the folder with an account and two sessions.
  func fill() async throws -> SQLiteRegistryStore {
    let store = try folder.server.open().store
    try await store.write(
      [.createAccount(ada), .createSession(session(1)), .createSession(session(2))], events: [])
    return store
  }

  @Test func `made while others write is consistent, complete and private`() async throws {
    let store = try await fill()
    try Data("signing".utf8).write(to: URL(fileURLWithPath: folder.path + "/signing.pem"))
    let writer = try folder.server.open().store
    let (folder, target) = (folder, target)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        var number = UInt64(100)
        while !Task.isCancelled {
          number += 1
          try await writer.write(
            [.createSession(session(number)), .audit(AuditedAction(at: start, action: "a", actor: "b"))], events: [])
        }
      }
      let names = try await folder.server.backUp(store, to: target)
      #expect(names == ["registry.sqlite", "signing.pem", "ends.log", "keys.json"])
      group.cancelAll()
    }
    #expect(try mode(target) == 0o700)
    for name in try FileManager.default.contentsOfDirectory(atPath: target) {
      #expect(try mode("\(target)/\(name)") == 0o600, "\(name)")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: backups.path) == ["backup"], "no draft is left")
    let copy = try ServerFolder(path: target).open().store
    let counts = try await copy.counts()
    #expect(counts.liveSessions == counts.auditedActions + 2, "no write is there in part")
    #expect(try await copy.inspect().faults.isEmpty)
  }

  @Test func `is not written over anything`() async throws {
    let store = try await fill()
    await #expect(throws: RegistryOpenError.backupNotEmpty(path: folder.path)) {
      try await folder.server.backUp(store, to: folder.path)
    }
    try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
    _ = try await folder.server.backUp(store, to: target + "/")
    #expect(FileManager.default.fileExists(atPath: target + "/registry.sqlite"))
    _ = try await folder.server.backUp(store, to: backups.path + "/another//")
    #expect(FileManager.default.fileExists(atPath: backups.path + "/another/registry.sqlite"))
    let below = target + "/registry.sqlite/backup"
    await #expect(throws: RegistryOpenError.self) { try await folder.server.backUp(store, to: below) }
  }

  @Test func `creates the missing folders above it for its owner only`() async throws {
    let store = try await fill()
    _ = try await folder.server.backUp(store, to: backups.path + "/of/2026//backup")
    for name in ["of", "of/2026", "of/2026/backup"] { #expect(try mode("\(backups.path)/\(name)") == 0o700, "\(name)") }
  }

  @Test func `is restored to an empty folder with its keys`() async throws {
    let store = try await fill()
    _ = try await folder.server.backUp(store, to: target)
    let empty = try Folder()
    #expect(try empty.server.restore(from: target) == .everything)
    let (restored, keys) = try empty.server.open()
    #expect(keys.instance == (try folder.server.keyFile.load()).map(\.instance))
    #expect(try await restored.sessions(of: ada.id).count == 2)
  }

  @Test func `restored to its server ends again what ended since, and keeps the former database`() async throws {
    let store = try await fill()
    _ = try await folder.server.backUp(store, to: target)
    try await store.write([.endSession(session(1).id, later), .createSession(session(3))], events: [])
    try store.close()
    let former = folder.server.databasePath + ".former-1"
    #expect(try folder.server.restore(from: target) == .database(ended(1), former: former))
    let restored = try folder.server.open().store
    #expect(try await restored.session(session(1).id)?.end == later)
    #expect(try await restored.session(session(2).id)?.end == nil)
    #expect(try await restored.session(session(3).id) == nil)
    try restored.close()
    #expect(FileManager.default.fileExists(atPath: former))
    // Again, also over a database that is damaged.
    try Data("junk".utf8).write(to: URL(fileURLWithPath: folder.server.databasePath))
    #expect(
      try folder.server.restore(from: target)
        == .database(ended(1), former: folder.server.databasePath + ".former-2"))
    try FileManager.default.removeItem(atPath: folder.server.databasePath)
    #expect(try folder.server.restore(from: target) == .database(ended(1), former: nil))
  }

  /// Ends a session after the backup, and leaves the folder without a server.
  private func endAfterBackup() async throws {
    let store = try await fill()
    _ = try await folder.server.backUp(store, to: target)
    try await store.write([.endSession(session(1).id, later), .audit(action), .audit(action)], events: [])
    try store.close()
  }

  private var action: AuditedAction { AuditedAction(at: start, action: "a", actor: "b") }

  @Test func `restored after a restore that was killed leaves nothing of that one, and repeats no number`() async throws
  {
    try await endAfterBackup()
    let database = folder.server.databasePath
    let present = try folder.server.open().store
    let counters = try present.counters()
    try present.close()
    for end in ["", "-wal"] { try Data("junk".utf8).write(to: URL(fileURLWithPath: database + ".restoring" + end)) }
    try FileManager.default.linkItem(atPath: database, toPath: database + ".former-1")
    #expect(try folder.server.restore(from: target) == .database(ended(1), former: database + ".former-1"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.contains("restoring") } == [])
    let restored = try folder.server.open().store
    let after = try restored.counters()
    #expect(after.audit >= counters.audit && after.event > counters.event)
    #expect(try await restored.session(session(1).id)?.end == later)
  }

  /// The database and its journal as a process leaves them that is killed in the middle of a write.
  private func beginWrite() throws {
    let database = folder.server.databasePath
    let files = [database, database + "-journal"].map { URL(fileURLWithPath: $0) }
    let queue = try DatabaseQueue(path: database)
    let left = try queue.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA journal_mode = DELETE")
      try db.execute(sql: "PRAGMA cache_size = 2")
      try db.execute(sql: "BEGIN IMMEDIATE")
      try db.execute(sql: "CREATE TABLE half (x)")
      for _ in 0..<500 { try db.execute(sql: "INSERT INTO half VALUES (zeroblob(3000))") }
      let left = try files.map { try Data(contentsOf: $0) }
      try db.execute(sql: "ROLLBACK")
      return left
    }
    try queue.close()
    for (file, data) in zip(files, left) { try data.write(to: file) }
  }

  @Test func `that was being restored by a process that was killed hinders neither a server nor the next restore`()
    async throws
  {
    try await endAfterBackup()
    let database = folder.server.databasePath
    try beginWrite()
    try Data("junk".utf8).write(to: URL(fileURLWithPath: database + ".restoring"))
    let present = try folder.server.open().store
    #expect(try await present.session(session(1).id)?.end == later)
    #expect(!FileManager.default.fileExists(atPath: database + ".restoring"), "what the restore has left is gone")
    try present.close()
    try beginWrite()
    #expect(try folder.server.restore(from: target) == .database(ended(1), former: database + ".former-1"))
    // The journal of a database that is gone is not that of the restored one.
    try beginWrite()
    try FileManager.default.removeItem(atPath: database)
    #expect(try folder.server.restore(from: target) == .database(ended(1), former: nil))
    #expect(FileManager.default.fileExists(atPath: database + ".former-2-journal"))
    #expect(!FileManager.default.fileExists(atPath: database + "-journal"))
    // Where the former one is gone already, the words name the next restore.
    try FileManager.default.moveItem(atPath: database, toPath: database + ".restoring")
    let refusal = #expect(throws: RegistryOpenError.self) { _ = try folder.server.open() }
    #expect(refusal?.hint == "run the same handstamp-server admin database restore again")
    #expect(try folder.server.restore(from: target) == .database(ended(1), former: nil))
  }

  @Test func `restored beside a log alone keeps that log, which knows what was taken away`() async throws {
    try await endAfterBackup()
    let keys = try #require(try folder.server.keyFile.load())
    for name in ["keys.json", "registry.sqlite"] {
      try FileManager.default.removeItem(atPath: folder.path + "/" + name)
    }
    #expect(try folder.server.restore(from: target) == .database(ended(1), former: nil))
    #expect(try await folder.server.open().store.session(session(1).id)?.end == later)
    #expect(try folder.server.keyFile.load()?.instance == keys.instance)
  }

  @Test func `restored beside the write-ahead log of a database that is gone is not mixed with it`() async throws {
    let store = try await fill()
    _ = try await folder.server.backUp(store, to: target)
    try await store.write([.createSession(session(3))], events: [])
    let (database, log) = (folder.server.databasePath, folder.server.databasePath + "-wal")
    let kept = try Data(contentsOf: URL(fileURLWithPath: log))
    #expect(!kept.isEmpty)
    try store.close()
    try FileManager.default.removeItem(atPath: database)
    try kept.write(to: URL(fileURLWithPath: log))
    guard case .database(_, former: nil) = try folder.server.restore(from: target) else {
      Issue.record("not in place")
      return
    }
    let restored = try folder.server.open().store
    #expect(try await restored.session(session(2).id) != nil)
    #expect(try await restored.session(session(3).id) == nil)
    try restored.close()
    #expect(try Data(contentsOf: URL(fileURLWithPath: database + ".former-1-wal")) == kept)
  }

  @Test func `restored beside an emptied log takes what it can from the former database, and says what it cannot`()
    async throws
  {
    try await endAfterBackup()
    let log = folder.server.endLogPath
    // The former database knows it.
    try Data().write(to: URL(fileURLWithPath: log))
    guard case .database(let first, let former?) = try folder.server.restore(from: target) else {
      Issue.record("not in place")
      return
    }
    #expect(first == ended(1))
    // The logs go on after the numbers of the former database.
    let store = try folder.server.open().store
    try await store.write([.audit(action)], events: [])
    #expect(try await store.auditedActions(after: 0, about: nil, limit: 9).map(\.id) == [3])
    // Now the backup has an entry that neither the log nor a database has.
    _ = try await folder.server.backUp(store, to: backups.path + "/second")
    try store.close()
    try FileManager.default.removeItem(atPath: folder.server.databasePath)
    try FileManager.default.removeItem(atPath: former)
    try Data().write(to: URL(fileURLWithPath: log))
    guard case .database(let second, _) = try folder.server.restore(from: backups.path + "/second") else {
      Issue.record("not in place")
      return
    }
    #expect(second.isIncomplete)
    let text = try String(contentsOfFile: log, encoding: .utf8)
    try (text + "junk\n").write(toFile: log, atomically: false, encoding: .utf8)
    guard case .database(let third, _) = try folder.server.restore(from: backups.path + "/second") else {
      Issue.record("not in place")
      return
    }
    #expect(!third.isIncomplete && third.unreadableLines == 1)
  }

  @Test func `that cannot be opened in its place leaves the former database there`() async throws {
    let store = try await fill()
    _ = try await folder.server.backUp(store, to: target)
    try await store.write([.createSession(session(3))], events: [])
    try store.close()
    let log = folder.server.endLogPath
    try FileManager.default.moveItem(atPath: log, toPath: log + ".away")
    try Data("handstamp-ends 1 another\n".utf8).write(to: URL(fileURLWithPath: log))
    let (server, target) = (folder.server, target)
    #expect(throws: RegistryOpenError.endLogForeign(path: log)) { try server.restore(from: target) }
    try FileManager.default.removeItem(atPath: log)
    try FileManager.default.moveItem(atPath: log + ".away", toPath: log)
    #expect(try await server.open().store.sessions(of: ada.id).count == 3)
    #expect(!FileManager.default.fileExists(atPath: server.databasePath + ".former-1"))
  }

  @Test func `is not restored under a running server`() async throws {
    let store = try await fill()
    _ = try await folder.server.backUp(store, to: target)
    let (server, target) = (folder.server, target)
    #expect(throws: RegistryOpenError.inUse(path: server.databasePath)) { try server.restore(from: target) }
    try await store.write([.createSession(session(3))], events: [])
    #expect(try await store.sessions(of: ada.id).count == 3, "the server goes on")
    try store.close()
    _ = try server.restore(from: target)
  }

  @Test func `of another server, or of none, changes nothing`() async throws {
    let store = try await fill()
    _ = try await folder.server.backUp(store, to: target)
    let stranger = try Folder()
    let (other, _) = try stranger.server.open()
    try other.close()
    #expect(throws: RegistryOpenError.backupOfOtherServer(path: target)) { try stranger.server.restore(from: target) }
    #expect(FileManager.default.fileExists(atPath: stranger.server.databasePath))
    let none = backups.path + "/none"
    #expect(throws: RegistryOpenError.notABackup(path: none, "it has no registry.sqlite")) {
      try stranger.server.restore(from: none)
    }
    // A copy of the file alone, made while a server used it.
    let torn = try Folder()
    for name in ["registry.sqlite", "registry.sqlite-wal"] {
      try FileManager.default.copyItem(atPath: "\(folder.path)/\(name)", toPath: "\(torn.path)/\(name)")
    }
    #expect(
      throws: RegistryOpenError.notABackup(path: torn.path, "its database was copied while a server used it")
    ) { try folder.server.restore(from: torn.path) }
    var bytes = try Data(contentsOf: URL(fileURLWithPath: target + "/registry.sqlite"))
    bytes.replaceSubrange(8192..<8192 + 2000, with: Data(repeating: 0xFF, count: 2000))
    try bytes.write(to: URL(fileURLWithPath: target + "/registry.sqlite"))
    let empty = try Folder()
    #expect(throws: RegistryOpenError.notABackup(path: target, "its database is damaged")) {
      try empty.server.restore(from: target)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: empty.path).isEmpty)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A folder opened for administration` {
  @Test func `is neither created nor migrated, and leaves the write-ahead log to the server`() async throws {
    let folder = try Folder()
    #expect(throws: RegistryOpenError.databaseMissing(path: folder.server.databasePath)) {
      try folder.server.openExisting()
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    let server = try folder.server.open().store
    try await server.write([.createAccount(ada), .createSession(session(1))], events: [])
    let admin = try folder.server.openExisting().store
    try await admin.write(
      [.endSession(session(1).id, SessionEnd(at: start, reason: .revoked))], events: [])
    admin.release()
    #expect(try await server.session(session(1).id)?.end?.reason == .revoked)
    #expect(
      try (FileManager.default.attributesOfItem(atPath: folder.server.databasePath + "-wal")[.size] as? Int) ?? 0 > 0)
    try await server.write([.createSession(session(2))], events: [])
    try await server.pool.write { db in try db.execute(sql: "DELETE FROM grdb_migrations") }
    #expect(throws: RegistryOpenError.olderFormat(path: folder.server.databasePath)) {
      try folder.server.openExisting()
    }
  }

  @Test func `rotates and retires keys, and gives no ID twice`() async throws {
    let folder = try Folder()
    let (store, first) = try folder.server.open()
    let second = try folder.server.rotateKey(besides: await store.keysEverUsed())
    #expect(second.rawValue.hasPrefix("k2-") && second.isValid)
    try store.close()
    let (again, keys) = try folder.server.open()
    #expect(keys.master.current == second)
    #expect(keys.master.keys[KeyID("k1")] == first.master.keys[KeyID("k1")])
    #expect(try await again.keysEverUsed() == [KeyID("k1"), second])
    #expect(throws: RegistryOpenError.self) { try folder.server.retireKey(second) }
    let third = try folder.server.rotateKey(besides: await again.keysEverUsed())
    #expect(third.rawValue.hasPrefix("k3-"))
    try folder.server.retireKey(second)
    #expect(try folder.server.keyFile.load()?.master.keys.keys.sorted() == [KeyID("k1"), third])
    try folder.server.retireKey(KeyID("k1"))
    try again.close()
    let tenth = try folder.server.rotateKey(besides: [KeyID("k9")])
    #expect(tenth.rawValue.hasPrefix("k10-"))
    #expect(try mode(folder.path + "/keys.json") == 0o600)
    try folder.server.open().store.close()
  }

  @Test func `counts the sessions that may have tokens of a key`() async throws {
    let folder = try Folder()
    let store = try folder.server.open().store
    func row(_ number: UInt64, begun: Int64, refreshed: Int64) -> SessionRow {
      SessionRow(
        session: session(number).session, account: ada.id,
        device: DeviceInfo(id: DeviceID("\(number)"), name: "", platform: ""), kind: .keyed,
        createdAt: start.advanced(by: .seconds(begun)), rotatedAt: start.advanced(by: .seconds(refreshed)))
    }
    try await store.write(
      [
        .createAccount(ada), .createSession(row(1, begun: 0, refreshed: 50)),
        .createSession(row(2, begun: 0, refreshed: 51)),
        .createSession(row(3, begun: 60, refreshed: 60)), .createSession(row(4, begun: 0, refreshed: 0)),
        .endSession(row(4, begun: 0, refreshed: 0).id, SessionEnd(at: start, reason: .revoked)),
      ], events: [])
    let (refreshed, begun) = try await store.liveSessions(upTo: start.advanced(by: .seconds(50)))
    #expect(refreshed == 1 && begun == 2)
    let all = try await store.liveSessions(upTo: nil)
    #expect(all.refreshed == 3 && all.begun == 3)
  }
}
#endif
