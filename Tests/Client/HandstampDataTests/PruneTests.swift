#if Data
import Foundation
import GRDB
import HandstampCore
import HandstampTesting
import Testing

@testable import HandstampData

@Suite(.timeLimit(.minutes(10))) struct `A pruning` {
  private let folder: NewFolder
  private let clock = ManualClock()
  private let store: DataStore
  private var now: UnixTime { clock.now().wall }

  init() throws {
    folder = try NewFolder()
    store = try folder.store(clock)
  }

  private func numbers(_ table: String) throws -> [Int] {
    try store.read { try Int.fetchAll($0, sql: "SELECT number FROM \(table) ORDER BY number") }
  }

  @Test func `removes rows fetched too long ago, but not a tick earlier`() async throws {
    try await store.write { [now] in try Small.post.upsert($0, [1], ["text": "x"], at: now) }
    clock.advance(by: .seconds(7 * 86_400))
    var report = try await store.prune()
    #expect(report.removed.values.reduce(0, +) == 0)
    clock.advance(by: .milliseconds(1))
    report = try await store.prune()
    #expect(report.removed["post"] == 1)
    #expect(try numbers("post") == [])
  }

  @Test func `spares rows fetched again without a change`() async throws {
    for _ in 0..<3 {
      try await store.write { [now] in try Small.post.upsert($0, [1], ["text": "x"], at: now) }
      clock.advance(by: .seconds(6 * 86_400))
      try await store.prune()
    }
    #expect(try numbers("post") == [1])
  }

  @Test func `spares rows that are pinned, in use or referenced`() async throws {
    let id = try await store.write { [now] database in
      try Small.thread.upsert(database, [1], ["bookmarked": 1], at: now)
      let thread = try Small.thread.upsert(database, [2], [:], at: now).id
      try Small.thread.upsert(database, [3], [:], at: now)
      let author = try Small.person.upsert(database, ["ada"], [:], at: now).id
      return try Small.post.upsert(database, [7], ["thread": thread, "author": author], at: now).id
    }
    clock.advance(by: .seconds(30 * 86_400))
    let lease = store.protect([id], in: Small.post)
    try await store.prune()
    #expect(try numbers("thread") == [1, 2])
    #expect(try numbers("post") == [7])
    #expect(try store.read { try String.fetchAll($0, sql: "SELECT name FROM person") } == ["ada"])
    withExtendedLifetime(lease) {}
  }

  @Test func `removes a thread after its last post, in one run`() async throws {
    try await store.write { [now] database in
      let thread = try Small.thread.upsert(database, [2], [:], at: now).id
      for number in 1...2500 { try Small.post.upsert(database, [number], ["thread": thread], at: now) }
    }
    clock.advance(by: .seconds(30 * 86_400))
    _ = store.protect([1], in: Small.post)  // Released immediately.
    let report = try await store.prune()
    #expect(report.removed == ["post": 2500, "thread": 1])
    #expect(try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM shelf_post") } == 0)
  }

  @Test func `counts rows added in other ways as fetched when first seen`() async throws {
    try await store.write { try $0.execute(sql: "INSERT INTO post (number) VALUES (1)") }
    try await store.prune()
    #expect(try numbers("post") == [1])
    clock.advance(by: .seconds(8 * 86_400))
    try await store.prune()
    #expect(try numbers("post") == [])
  }

  @Test func `frees disk space`() async throws {
    let text = String(repeating: "x", count: 2000)
    try await store.add(1...3000, text: text)
    try await store.flush()
    let before = try #require(folder.size)
    let report = try await store.prune(PruneLimits(bytes: 1 << 20))
    #expect(report.bytes <= 1 << 20 && !report.isOverBudget)
    // The oldest rows were removed first, and more than half of the budget is still used.
    let left = try numbers("post")
    #expect(left.last == 3000 && left.count > 150)
    let after = try #require(folder.size)
    #expect(after < before / 3)
  }

  @Test(arguments: 0..<25 as Range<UInt64>)
  func `never removes pinned or used rows, and meets its budget unless only those remain`(
    seed: UInt64
  ) async throws {
    var random = SplitMix64(state: seed)
    let plan = (0..<300).map { _ in
      (
        number: Int.random(in: 1...200, using: &random), age: Int64.random(in: 0...14, using: &random),
        size: Int.random(in: 0...3000, using: &random), kind: Int.random(in: 0...5, using: &random)
      )
    }
    let shown = try await store.write { [now] database -> [Int64] in
      var shown: [Int64] = []
      for (number, age, size, kind) in plan {
        let time = now.advanced(by: .seconds(-86_400 * age))
        if kind < 2 {
          try Small.thread.upsert(
            database, [number], ["title": String(repeating: "t", count: size), "bookmarked": kind], at: time)
        } else {
          let thread = try Int64.fetchOne(
            database, sql: "SELECT id FROM thread WHERE number >= ? LIMIT 1", arguments: [number])
          let id = try Small.post.upsert(
            database, [number], ["text": String(repeating: "p", count: size), "thread": thread], at: time
          ).id
          if kind == 5 { shown.append(id) }
        }
      }
      return shown
    }
    let lease = store.protect(shown, in: Small.post)
    let kept = """
      SELECT 'thread', id FROM thread WHERE bookmarked = 1
      UNION ALL SELECT 'post', id FROM post WHERE id IN (\(shown.map(String.init).joined(separator: ",")))
      """
    let before = try store.read { try Row.fetchAll($0, sql: kept) }
    let budget = Int.random(in: 0...400_000, using: &random)
    let report = try await store.prune(PruneLimits(bytes: budget, batch: Int.random(in: 1...400, using: &random)))
    #expect(try store.read { try Row.fetchAll($0, sql: kept) } == before)
    #expect(report.isOverBudget == (report.bytes > budget))
    if report.isOverBudget {
      // The remaining rows are in use, pinned, or needed by such rows.
      let others = try store.read { database in
        try Int.fetchOne(
          database,
          sql: """
            SELECT (SELECT count(*) FROM post WHERE id NOT IN (\(shown.map(String.init).joined(separator: ","))))
            + (SELECT count(*) FROM thread AS t WHERE coalesce(bookmarked, 0) = 0
               AND NOT EXISTS (SELECT 1 FROM post WHERE thread = t.id))
            """)
      }
      #expect(others == 0)
    }
    let broken = try store.read { try Row.fetchAll($0, sql: "PRAGMA foreign_key_check") }
    #expect(broken.isEmpty)
    withExtendedLifetime(lease) {}
  }

  @Test func `starts by itself after a delay, and repeats at intervals until cancelled`() async throws {
    try await store.add(1...1)
    clock.setWall(UnixTime(seconds: 1_900_000_000))
    let pruning = Task { [store] in await store.pruneRegularly(after: .seconds(30), every: .seconds(3600)) }
    var seen = store.values(Small.texts).makeAsyncIterator()
    #expect(try await seen.next()?.count == 1)
    await clock.sleepers(1)
    clock.advance(by: .seconds(30))
    #expect(try await seen.next() == [])
    await clock.sleepers(1)
    pruning.cancel()
    await pruning.value
  }

  @Test func `runs in the foreground only, and all writes are in the main file in the background`() async throws {
    try await store.add(1...50)
    let life = StoreLife(store)
    life.didEnterForeground()
    life.didEnterForeground()
    await clock.sleepers(1)
    #expect(clock.sleeperCount == 1)
    await life.didEnterBackground().value
    #expect(clock.sleeperCount == 0)
    let copy = folder.url.appendingPathComponent("copy.sqlite")
    try FileManager.default.copyItem(at: folder.file, to: copy)
    let queue = try DatabaseQueue(path: copy.path)
    #expect(try await queue.read(Small.texts).count == 50)
    // In the foreground again, for longer than any row is kept.
    var seen = store.values(Small.texts).makeAsyncIterator()
    #expect(try await seen.next()?.count == 50)
    clock.setWall(UnixTime(seconds: 1_900_000_000))
    life.didEnterForeground()
    await clock.sleepers(1)
    clock.advance(by: .seconds(30))
    #expect(try await seen.next() == [])
    await life.didEnterBackground().value
    // A sign-out in between does no harm.
    try store.remove()
    await life.didEnterBackground().value
  }

  @Test func `does not hold up readers and writers`() async throws {
    try await store.add(1...20_000)
    clock.setWall(UnixTime(seconds: 1_900_000_000))
    let store = store
    let pruning = Task.detached { try await store.prune(PruneLimits(batch: 200)) }
    var written = 0
    while try store.read({ try Int.fetchOne($0, sql: "SELECT count(*) FROM post WHERE number <= 20000") ?? 0 }) > 0 {
      written += 1
      let number = 100_000 + written
      try await store.write { [now] in try Small.post.upsert($0, [number], ["text": "new"], at: now) }
    }
    #expect(try await pruning.value.removed["post"] == 20_000)
    #expect(try numbers("post").count == written)
  }
}

#endif
