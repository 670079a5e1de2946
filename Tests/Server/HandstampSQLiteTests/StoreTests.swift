#if Server
import Foundation
import GRDB
import HandstampCore
import HandstampRegistry
import HandstampTesting
import Testing

@testable import HandstampSQLite

@Suite(.timeLimit(.minutes(10))) struct `A SQLite store` {
  /// A store that remembers its path, so that a second one can be opened on it.
  private struct Opened: StoreDecorator {
    let folder: Folder
    let base: SQLiteRegistryStore

    init(_ folder: Folder) throws {
      self.folder = folder
      base = try folder.server.open().store
    }
  }

  @Test func `keeps the promises of a store`() async throws {
    try await checkRegistryStore { try Opened(try Folder()) }
  }

  @Test func `keeps them between two servers on one file`() async throws {
    try await checkRegistryStore {
      try Opened(try Folder())
    } again: {
      try Opened($0.folder)
    }
  }

  @Test func `keeps its log short while writes go on`() async throws {
    let folder = try Folder()
    let store = try folder.server.open().store
    try await store.write([.createAccount(ada)], events: [])
    // Each commit writes at least three pages of 4 KiB: 36 MB altogether, and beyond 4,000 pages commits wait for the checkpoint.
    for number in 0..<3000 as Range<UInt64> { try await store.write([.createSession(session(number))], events: []) }
    let log = try FileManager.default.attributesOfItem(atPath: folder.server.databasePath + "-wal")[.size] as? Int
    #expect(try #require(log) < 18_000_000)
    #expect(store.checkpointer.movedPages > 0)
    try store.close()
    #expect(try await folder.server.open().store.sessions(of: ada.id).count == 3000)
  }

  @Test func `has everything again after it is reopened`() async throws {
    let folder = try Folder()
    var row = session(1)
    do {
      let store = try folder.server.open().store
      try await store.write([.createAccount(ada), .createSession(row)], events: [])
      row.counter = 1
      row.ring = try #require(KeyRing(bytes: [1, 0, 0, 0, 0, 0, 0, 0, 9], in: row.kind))
      let event = RegistryEvent(kind: .sessionEstablished, account: ada.id, session: row.id, at: start)
      try await store.write([.replaceSession(row, expecting: 0)], events: [event])
      try store.close()
      await #expect(throws: RegistryStoreError.unavailable("the store is closed")) {
        try await store.write([], events: [])
      }
      await #expect(throws: RegistryStoreError.self) { try await store.session(row.id) }
      #expect(throws: RegistryStoreError.unavailable("the store is closed")) { try store.close() }
    }
    row.revision = 1
    let store = try folder.server.open().store
    #expect(try await store.session(row.id) == row)
    #expect(try await store.account(ada.id) == ada)
    #expect(try await store.lastEventID() == EventID(rawValue: 1))
    // An id is never reused, even if the newest event is gone.
    let other = try DatabaseQueue(path: folder.server.databasePath)
    try await other.write { db in try db.execute(sql: "DELETE FROM event") }
    try await store.write(
      [], events: [RegistryEvent(kind: .sessionRevoked, account: ada.id, session: row.id, reason: .idle, at: start)])
    #expect(try await store.events(after: .zero, account: nil, limit: 9).map(\.id) == [EventID(rawValue: 2)])
  }

  @Test func `syncs every commit, and is readable by its owner only`() async throws {
    let folder = try Folder()
    let store = try folder.server.open().store
    try await store.write([.createAccount(ada)], events: [])
    for name in ["registry.sqlite", "registry.sqlite-wal", "registry.sqlite-shm", "keys.json"] {
      #expect(try mode(folder.path + "/" + name) == 0o600, "\(name)")
    }
    let settings = try await store.settings()
    #expect(settings.synchronous == 2 && settings.journal == "wal" && settings.foreignKeys)
  }

  @Test func `gives each of many concurrent writers its own result`() async throws {
    let folder = try Folder()
    let store = try folder.server.open().store
    try await store.write([.createAccount(ada)], events: [])
    func event(_ number: UInt64) -> RegistryEvent {
      RegistryEvent(kind: .sessionEstablished, account: ada.id, session: session(number).id, at: start)
    }
    // Every third one creates a row that exists; in a shared transaction or not, only that one fails.
    let failed = try await withThrowingTaskGroup(of: UInt64?.self) { group in
      for number in 0..<600 as Range<UInt64> {
        group.addTask {
          let extra: [RegistryChange] = number % 3 == 0 ? [.createAccount(ada)] : []
          do throws(RegistryStoreError) {
            try await store.write([.createSession(session(number))] + extra, events: [event(number)])
            return nil
          } catch {
            guard error == .alreadyExists else { throw error }
            return number
          }
        }
      }
      return try await group.reduce(into: Set<UInt64>()) { set, number in if let number { set.insert(number) } }
    }
    #expect(failed == Set((0..<600 as Range<UInt64>).filter { $0 % 3 == 0 }))
    let done = (0..<600 as Range<UInt64>).filter { $0 % 3 != 0 }
    let rows = try await store.sessions(of: ada.id).map(\.session)
    #expect(Set(rows) == Set(done.map { session($0).session }))
    let events = try await store.events(after: .zero, account: nil, limit: 1000).map(\.event)
    #expect(events.count == 400)
    #expect(Set(events) == Set(done.map(event)))
  }

  @Test(arguments: [
    ("kind", "kind = 'odd'"), ("ring", "ring = x'07'"), ("counter", "counter = -1"),
    ("end_reason", "end_reason = 'odd', ended_at = 1"), ("pending", "pending = 'odd'"),
    ("requested_acr", "requested_acr = 'odd'"),
    ("oldest_cookie", "oldest_cookie = 9, oldest_cookie_at = 1, oldest_cookie_replaced = 0"),
  ])
  func `names the column of a damaged value, and never traps`(column: String, damage: String) async throws {
    let folder = try Folder()
    let store = try folder.server.open().store
    let row = session(1)
    try await store.write([.createAccount(ada), .createSession(row)], events: [])
    let other = try DatabaseQueue(path: folder.server.databasePath)
    try await other.write { db in try db.execute(sql: "UPDATE session SET \(damage)") }
    await #expect(
      throws: RegistryStoreError.unavailable("a stored row has an invalid value in the column \(column)")
    ) {
      try await store.session(row.id)
    }
  }
}
#endif
