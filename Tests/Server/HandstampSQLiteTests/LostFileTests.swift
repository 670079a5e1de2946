#if Server
import Foundation
import GRDB
import HandstampCore
import HandstampRegistry
import HandstampSQLite
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A database file that disappears under a running server` {
  /// Which file disappears, and whether an empty one takes its place.
  @Test(arguments: ["", "-wal"], [true, false])
  func `fails all reads and writes, and works again once it is back`(
    suffix: String, isReplaced: Bool
  ) async throws {
    let folder = try Folder()
    let store = try folder.server.open().store
    try await store.write([.createAccount(ada), .createSession(session(1))], events: [])
    let path = folder.server.databasePath + suffix
    try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
    if isReplaced { #expect(FileManager.default.createFile(atPath: path, contents: Data())) }
    for _ in 0..<2 {
      await #expect(throws: RegistryStoreError.self) {
        try await store.write([.createSession(session(2))], events: [])
      }
      await #expect(throws: RegistryStoreError.self) { try await store.session(session(1).id) }
      await #expect(throws: RegistryStoreError.self) { try await store.lastEventID() }
    }
    if isReplaced { try FileManager.default.removeItem(atPath: path) }
    try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
    #expect(try await store.session(session(1).id) != nil)
    try await store.write([.createSession(session(3))], events: [])
    try store.close()
    #expect(try await folder.server.open().store.session(session(3).id) != nil)
  }

  @Test func `has the boot clock of its last note in the machine's own file`() async throws {
    let folder = try Folder()
    var note = ClockNote(at: start)
    note.boot = BootMark(id: .max, uptime: .milliseconds(-7))
    let store = try folder.server.open().store
    try await store.write([.noteClock(note)], events: [])
    try store.close()
    let again = try folder.server.open().store
    #expect(try await again.clockNote() == note)
    // Another machine's, for whose boot the clock says nothing.
    let path = folder.server.path + "/clock"
    let kept = try #require(FileManager.default.contents(atPath: path))
    try await again.write([.noteClock(ClockNote(at: start, revision: 1))], events: [])
    try again.close()
    try kept.write(to: URL(fileURLWithPath: path))
    #expect(try await folder.server.open().store.clockNote()?.boot == nil)
  }

  @Test func `fails all calls once an older copy is written into it`() async throws {
    let folder = try Folder()
    let store = try folder.server.open().store
    try await store.write([.createAccount(ada), .noteClock(ClockNote(at: start))], events: [])
    try store.close()
    let copy = try #require(FileManager.default.contents(atPath: folder.server.databasePath))
    let later = try folder.server.open().store
    let note = ClockNote(at: start.advanced(by: .seconds(60)), revision: 1)
    try await later.write([.createSession(session(1)), .noteClock(note)], events: [])
    #expect(try await later.clockNote()?.revision == 1)
    // In place, as `cp` does: the file stays the same one. The log is checkpointed into the database before.
    let checkpoint = try DatabaseQueue(path: folder.server.databasePath)
    try await checkpoint.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
    try checkpoint.close()
    let file = try #require(FileHandle(forWritingAtPath: folder.server.databasePath))
    try file.write(contentsOf: copy)
    try file.truncate(atOffset: UInt64(copy.count))
    try file.close()
    await #expect(throws: RegistryStoreError.self) { try await later.clockNote() }
    await #expect(throws: RegistryStoreError.self) { try await later.session(session(1).id) }
    await #expect(throws: RegistryStoreError.self) { try await later.write([.createSession(session(2))], events: []) }
    try? later.close()
    // The next start knows the latest time.
    let restored = try folder.server.open().store
    #expect(try await restored.clockNote() == note)
    #expect(try await restored.session(session(1).id) == nil)
    try restored.close()
  }

  /// Only what is damaged fails; the rest goes on, and the store says what is damaged.
  @Test(arguments: ["account", "session"]) func `in part is reported once a request has met the damage`(
    table: String
  ) async throws {
    let folder = try Folder()
    let store = try folder.server.open().store
    try await store.write([.createAccount(ada), .createSession(session(1))], events: [])
    try store.close()
    let path = folder.server.databasePath
    let queue = try DatabaseQueue(path: path)
    let (page, size) = try await queue.read { db in
      (
        try Int.fetchOne(db, sql: "SELECT rootpage FROM sqlite_master WHERE name = ?", arguments: [table]) ?? 0,
        try Int.fetchOne(db, sql: "PRAGMA page_size") ?? 0
      )
    }
    try queue.close()
    let damaged = try folder.server.open().store
    let file = try #require(FileHandle(forWritingAtPath: path))
    try file.seek(toOffset: UInt64((page - 1) * size))
    try file.write(contentsOf: Data(repeating: 0xA5, count: size))
    try file.close()
    let registry = Registry(store: damaged, mint: TokenMint(try folder.server.open().keys.master))
    try await registry.checkUsable(now: start)
    #expect(damaged.damage == nil)
    await #expect(throws: RegistryStoreError.self) {
      _ = try await damaged.account(ada.id)
      _ = try await damaged.session(session(1).id)
    }
    #expect(damaged.damage?.contains("is damaged") == true)
    await #expect(throws: RegistryError.self) { try await registry.checkUsable(now: start) }
    try await damaged.write([], events: [])
    _ = try await damaged.lastEventID()
    try? damaged.close()
  }

  @Test func `is not falsely reported while notes are read and written concurrently`() async throws {
    let folder = try Folder()
    let store = try folder.server.open().store
    try await store.write([.noteClock(ClockNote(at: start))], events: [])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<32 {
        group.addTask { while try await store.clockNote()?.revision ?? 0 < 100 {} }
      }
      for number in Int64(0)..<100 {
        try await store.write([.noteClock(ClockNote(at: start, revision: number + 1))], events: [])
      }
      try await group.waitForAll()
    }
    #expect(try await store.clockNote()?.revision == 100)
    try store.close()
  }

  @Test func `leaves its clock file to no other server`() async throws {
    let folder = try Folder()
    let store = try folder.server.open().store
    try await store.write([.noteClock(ClockNote(at: start))], events: [])
    try store.close()
    // Started again, with everything moved away but the clock file.
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name != "clock" {
      try FileManager.default.removeItem(atPath: folder.path + "/" + name)
    }
    let other = try folder.server.open().store
    #expect(try await other.clockNote() == nil)
    try other.close()
  }

  @Test func `is opened with a damaged clock file, and not with one of another form`() async throws {
    let folder = try Folder()
    try folder.server.open().store.close()
    let path = folder.server.path + "/clock"
    for (text, isRefused) in [
      ("handstamp-clock 2 x\n", true), ("handstamp-clock 1 x\n1 1\n", false), ("x 1 1\n", false), ("", false),
    ] {
      try Data(text.utf8).write(to: URL(fileURLWithPath: path))
      #expect((refusal(folder.server)?.hint.contains("move the file away") == true) == isRefused, "\(text)")
      if isRefused { #expect(FileManager.default.contents(atPath: path) == Data(text.utf8)) }
    }
  }

  @Test func `is reported on close`() async throws {
    let folder = try Folder()
    let store = try folder.server.open().store
    try FileManager.default.removeItem(atPath: folder.server.databasePath)
    #expect(throws: RegistryStoreError.self) { try store.close() }
  }

  @Test func `may disappear with its folder`() async throws {
    let folder = try Folder()
    let server = ServerFolder(path: folder.path + "/server")
    let store = try server.open().store
    try FileManager.default.moveItem(atPath: server.path, toPath: server.path + ".away")
    await #expect(throws: RegistryStoreError.self) { try await store.lastEventID() }
    await #expect(throws: RegistryStoreError.self) { try await store.write([.createAccount(ada)], events: []) }
  }
}
#endif
