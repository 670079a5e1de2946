#if Data
import Foundation
import GRDB
import HandstampCore
import HandstampTesting
import Testing

@testable import HandstampData

@Suite(.timeLimit(.minutes(10))) struct `An account's store` {
  private let folder: NewFolder

  init() throws { folder = try NewFolder() }

  @Test func `yields the current values, and every change`() async throws {
    let store = try folder.store()
    var seen = store.values(Small.texts).makeAsyncIterator()
    #expect(try await seen.next() == [])
    try await store.add(1...2)
    #expect(try await seen.next() == ["text 1", "text 2"])
    // Writing the same again is not a change.
    try await store.add(1...2)
    try await store.add(3...3)
    #expect(try await seen.next() == ["text 1", "text 2", "text 3"])
  }

  @Test @MainActor func `is read on the main actor without waiting for a writer`() async throws {
    let store = try folder.store()
    try await store.add(1...1)
    let (started, go) = (Gate(), DispatchSemaphore(value: 0))
    let writing = Task.detached {
      try await store.write { database in
        try database.execute(sql: "DELETE FROM post")
        started.open()
        go.wait()
      }
    }
    await started.wait()
    #expect(try store.read(Small.texts) == ["text 1"])
    go.signal()
    try await writing.value
    #expect(try store.read(Small.texts) == [])
  }

  @Test func `keeps its content when it is opened again`() async throws {
    try await folder.store().add(1...3)
    #expect(try folder.store().read(Small.texts).count == 3)
    #expect(try folder.store().rebuilds == 0)
  }

  @Test func `discards everything in a failed write`() async throws {
    let store = try folder.store()
    await #expect(throws: (any Error).self) {
      try await store.write { database in
        try database.execute(sql: "INSERT INTO post (number) VALUES (1)")
        try database.execute(sql: "INSERT INTO nothing VALUES (1)")
      }
    }
    #expect(try store.read(Small.texts) == [])
    #expect(store.rebuilds == 0)
  }

  @Test func `can be erased during reads, which finish on the old content`() async throws {
    let store = try folder.store()
    try await store.add(1...3)
    var seen = store.values(Small.texts).makeAsyncIterator()
    #expect(try await seen.next()?.count == 3)
    let (reading, go) = (Gate(), DispatchSemaphore(value: 0))
    let reader = Task.detached {
      try await store.fetch { database in
        let before = try Small.texts(database).count
        reading.open()
        go.wait()
        return (before, try Small.texts(database).count)
      }
    }
    await reading.wait()
    try store.erase()
    #expect(try store.read(Small.texts) == [])
    #expect(try await seen.next() == [])
    try await store.add(9...9)
    #expect(try await seen.next() == ["text 9"])
    go.signal()
    let counts = try await reader.value
    #expect(counts.0 == 3 && counts.1 == 3)
    #expect(folder.files.count == 1)
    #expect(store.rebuilds == 0)
  }

  @Test func `is gone after a sign-out, while those of other accounts stay`() async throws {
    let other = try NewFolder()
    let (store, others) = (try folder.store(), try other.store())
    try await store.add(1...3)
    try await others.add(1...1)
    var seen = store.values(Small.texts).makeAsyncIterator()
    _ = try await seen.next()
    try store.remove()
    #expect(try await seen.next() == nil)
    #expect(!FileManager.default.fileExists(atPath: folder.place.folder.path))
    #expect(throws: StoreError.removed) { try store.read(Small.texts) }
    await #expect(throws: StoreError.removed) { try await store.add(1...1) }
    #expect(throws: StoreError.removed) { try store.erase() }
    var late = store.values(Small.texts).makeAsyncIterator()
    #expect(try await late.next() == nil)
    try store.remove()
    #expect(try others.read(Small.texts) == ["text 1"])
    #expect(try folder.store().read(Small.texts) == [])
  }

  @Test func `follows when another program erases it`() async throws {
    let (one, two) = (try folder.store(), try folder.store())
    try await one.add(1...3)
    #expect(try two.read(Small.texts).count == 3)
    try two.erase()
    #expect(try one.read(Small.texts) == [])
    try await one.add(4...4)
    #expect(try two.read(Small.texts) == ["text 4"])
    #expect(folder.files.count == 1)
    try two.remove()
    // Signed in again elsewhere: the store still open here continues in a new database.
    try await one.add(5...5)
    #expect(try folder.store().read(Small.texts) == ["text 5"])
  }

  @Test(arguments: ["garbage", "", "SQLite format 3\u{0}and then nothing"])
  func `rebuilds a corrupt file on opening`(text: String) async throws {
    try await folder.store().add(1...3)
    for ending in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: folder.file.path + ending) }
    try Foundation.Data((text + String(repeating: "x", count: text.isEmpty ? 0 : 20_000)).utf8).write(to: folder.file)
    let store = try folder.store()
    #expect(try store.read(Small.texts) == [])
    #expect(store.rebuilds == (text.isEmpty ? 0 : 1))
    try await store.add(1...1)
    #expect(try folder.store().read(Small.texts) == ["text 1"])
    #expect(folder.files.count == 1)
  }

  @Test func `rebuilds a corrupt file on use, and observers continue`() async throws {
    let store = try folder.store()
    try await store.add(1...5000)
    try await store.flush()
    var seen = store.values(Small.texts).makeAsyncIterator()
    #expect(try await seen.next()?.count == 5000)
    let size = try #require(folder.size)
    let handle = try FileHandle(forWritingTo: folder.file)
    try handle.seek(toOffset: 4096)
    try handle.write(contentsOf: Foundation.Data(repeating: 0xAB, count: size - 4096))
    try handle.close()
    // Another connection's cached pages may still work once; the file itself does not.
    try await store.write { database in
      try database.execute(sql: "PRAGMA shrink_memory")
      _ = try Int.fetchOne(database, sql: "SELECT sum(length(text)) FROM post")
    }
    #expect(store.rebuilds == 1)
    try await store.add(7...7)
    while let texts = try await seen.next() { if texts == ["text 7"] { break } }
    #expect(try store.read(Small.texts) == ["text 7"])
  }

  @Test func `replaces a database of a newer version with an empty one`() async throws {
    try await folder.store().write { database in
      try database.execute(sql: "INSERT INTO grdb_migrations VALUES ('99')")
    }
    let store = try folder.store()
    #expect(store.rebuilds == 1)
    try await store.add(1...1)
  }

  @Test func `keeps its content when a newer program migrates its tables`() async throws {
    try await folder.store().add(1...3)
    var schema = Small.schema
    schema.migrator.registerMigration("2") { database in
      try database.execute(sql: "ALTER TABLE post ADD COLUMN likes INTEGER DEFAULT 7")
    }
    let store = try DataStore(folder.place, schema: schema)
    #expect(try store.read(Small.texts) == ["text 1", "text 2", "text 3"])
    #expect(try store.read { try Int.fetchAll($0, sql: "SELECT likes FROM post") } == [7, 7, 7])
    #expect(store.rebuilds == 0)
  }

  @Test func `reports a faulty migration, and a folder that cannot be created`() throws {
    let schema = StoreSchema(tables: []) { migrator in
      migrator.registerMigration("1") { try $0.execute(sql: "CREATE TABEL x (y)") }
    }
    #expect(throws: StoreError.statement("near \"TABEL\": syntax error")) {
      try DataStore(folder.place, schema: schema)
    }
    try Foundation.Data().write(to: folder.url.appendingPathComponent("file"))
    let place = StorePlace(folder: folder.url.appendingPathComponent("file/below"))
    #expect(throws: StoreError.self) { try DataStore(place, schema: Small.schema) }
  }

  @Test func `moves all writes into its main file when the app enters the background`() async throws {
    let store = try folder.store()
    try await store.add(1...100)
    try await store.flush()
    let copy = folder.url.appendingPathComponent("copy.sqlite")
    try FileManager.default.copyItem(at: folder.file, to: copy)
    let queue = try DatabaseQueue(path: copy.path)
    #expect(try await queue.read(Small.texts).count == 100)
  }
}
#endif
