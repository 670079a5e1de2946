#if PostgreSQL
import Foundation
import HandstampCore
@testable import HandstampPostgres
import HandstampRegistry
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Several nodes on one database` {
  private let database: TestDatabase
  private let folder: Folder

  init() throws {
    database = try PostgresCluster.shared.get().newDatabase()
    folder = try Folder()
  }

  private func nodes(_ count: Int) async throws -> [PostgresRegistryStore] {
    var nodes: [PostgresRegistryStore] = []
    for _ in 0..<count { nodes.append(try await database.node(folder.path).open().store) }
    return nodes
  }

  @Test func `see events in one order without gaps, from every node`() async throws {
    let stores = try await nodes(3)
    try await stores[0].write([.createAccount(Samples.account)], events: [])
    let last = EventID(rawValue: 300)
    try await withThrowingTaskGroup(of: Void.self) { group in
      // A reader that meets a gap would never see what is stored there later.
      for store in stores {
        group.addTask {
          var position = EventID.zero
          while position < last {
            for event in try await store.events(after: position, account: nil, limit: 7) {
              #expect(event.id.rawValue == position.rawValue + 1)
              position = event.id
            }
          }
        }
      }
      for number in 0..<150 as Range<UInt64> {
        group.addTask {
          let row = Samples.session(number)
          let action = AuditedAction(at: Samples.start, .accountCreated, by: .server())
          try await stores[Int(number % 3)].write(
            [.createSession(row), .audit(action)], events: [Samples.established(row), Samples.established(row)])
        }
        // Failed writes leave no gap either.
        group.addTask {
          let row = Samples.session(number)
          await #expect(throws: RegistryStoreError.self) {
            try await stores[0].write(
              [.createSession(row), .createSession(row)], events: [Samples.established(row)])
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await stores[0].lastEventID() == last)
    #expect(try await stores[1].auditedActions(after: 0, about: nil, limit: 999).map(\.id) == Array(1...150))
    for store in stores { store.release() }
  }

  @Test func `tell each other of events`() async throws {
    let stores = try await nodes(2)
    let news = try #require(stores[1].news())
    var arrivals = news.arrivals.makeAsyncIterator()
    // Hearing begins.
    await arrivals.next()
    #expect(news.patience() == .seconds(5))
    try await stores[0].write([.createAccount(Samples.account)], events: [Samples.established(Samples.session(1))])
    await arrivals.next()
    #expect(try await stores[1].lastEventID() == EventID(rawValue: 1))
    // After a connection was lost, the node looks for what it has missed. Other tests have other databases.
    try database.sql(
      """
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
        AND (query LIKE 'LISTEN%' OR wait_event = 'ClientRead' AND query LIKE 'SELECT 1%')
      """)
    await arrivals.next()
    #expect(try await stores[1].lastEventID() == EventID(rawValue: 1))
    for store in stores { store.release() }
  }

  @Test func `forget old rows a batch at a time, at one node at a time`() async throws {
    let stores = try await nodes(2)
    let over = UnixTime(milliseconds: Samples.start.milliseconds + 10_000_000)
    var changes = [RegistryChange.createAccount(Samples.account)]
    for number in 0..<50 as Range<UInt64> {
      var row = Samples.session(number)
      row.end = SessionEnd(at: Samples.start, reason: .signedOut)
      changes.append(.createSession(row))
    }
    try await stores[0].write(changes, events: (0..<50).map { Samples.established(Samples.session($0)) })
    let retention = Retention(eventsBefore: over, endedBefore: over, now: over)
    // A node that holds the lock is pruning.
    let holder = try await stores[0].holding(lock: "SELECT pg_advisory_lock(\(PostgresSchema.pruningLock))")
    #expect(try await stores[1].prune(retention, limit: 20) == 0)
    holder.release()
    let first = try await eventually {
      let count = try await stores[1].prune(retention, limit: 20)
      return count > 0 ? count : nil
    }
    var counts = [first ?? 0]
    while case let count = try await stores[1].prune(retention, limit: 20), count > 0 { counts.append(count) }
    #expect(counts == [40, 40, 20])
    #expect(try await stores[0].counts().endedSessions == 0)
    #expect(try await stores[0].events(after: .zero, account: nil, limit: 9).isEmpty)
    // Numbers go on.
    try await stores[0].write([], events: [Samples.established(Samples.session(1))])
    #expect(try await stores[0].events(after: .zero, account: nil, limit: 9).map(\.id.rawValue) == [51])
    for store in stores { store.release() }
  }

  @Test func `refresh without writing an index`() async throws {
    let store = try await nodes(1)[0]
    var row = Samples.session(1)
    try await store.write([.createAccount(Samples.account), .createSession(row)], events: [])
    for revision in 0..<50 as Range<Int64> {
      row.counter += 1
      row.ring = KeyRing([.keyed(KeyMark(rawValue: row.counter))])
      row.rotatedAt = row.rotatedAt.advanced(by: .seconds(60))
      row.lastSeenAt = row.rotatedAt
      try await store.write([.replaceSession(row, expecting: revision)], events: [])
    }
    store.release()
    try database.sql("SELECT pg_stat_force_next_flush()")
    let found = try await eventually {
      let text = try database.sql(
        "SELECT n_tup_upd || ' ' || n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'session'")
      return text.hasPrefix("50 ") ? text : nil
    }
    // While another transaction looks on, a page may be full for once.
    let inPlace = found.flatMap { Int($0.dropFirst(3)) } ?? 0
    #expect(inPlace >= 45)
  }
}

extension PostgresRegistryStore {
  /// Another session of the database that holds a lock until it is released.
  fileprivate func holding(lock sql: String) async throws -> Holder {
    let connection = try PostgresConnection(address, until: .now + .seconds(240))
    _ = try connection.run(PostgresStatement(sql), until: .now + .seconds(240))
    return Holder(connection)
  }
}

private final class Holder {
  private var connection: PostgresConnection?
  init(_ connection: PostgresConnection) { self.connection = connection }
  func release() { connection = nil }
}
#endif
