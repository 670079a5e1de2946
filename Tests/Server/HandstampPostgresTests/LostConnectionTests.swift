#if PostgreSQL
import Foundation
import HandstampCore
import HandstampPostgres
import HandstampRegistry
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A lost connection` {
  private let cluster: PostgresCluster
  private let proxy: CuttingProxy
  private let database: TestDatabase
  private let folder: Folder

  init() throws {
    cluster = try PostgresCluster.shared.get()
    proxy = try CuttingProxy(before: cluster)
    database = try cluster.newDatabase()
    folder = try Folder()
  }

  private func opened() async throws -> PostgresRegistryStore {
    let address = try PostgresAddress("postgresql://postgres@/\(database.name)?host=\(proxy.folder)")
    return try await PostgresDatabase(address, folder: folder.path).open().store
  }

  @Test(arguments: CuttingProxy.Cut.allCases)
  func `during a commit is settled, and the write takes place once`(cut: CuttingProxy.Cut) async throws {
    defer { proxy.close() }
    let store = try await opened()
    let row = Samples.session(1)
    try await store.write([.createAccount(Samples.account)], events: [])
    proxy.cut(cut, "session-established")
    let event = Samples.established(row)
    try await store.write([.createSession(row)], events: [event])
    #expect(proxy.count == 1)
    let stored = try await store.events(after: .zero, account: nil, limit: 9)
    #expect(stored == [StoredEvent(id: EventID(rawValue: 1), event: event)])
    #expect(try await store.session(row.id) == row)
    try store.close()
  }

  @Test(arguments: CuttingProxy.Cut.allCases)
  func `during a refresh is settled, and another writer's refresh is not mistaken for it`(cut: CuttingProxy.Cut)
    async throws
  {
    defer { proxy.close() }
    let store = try await opened()
    var row = Samples.session(1)
    try await store.write(
      [.createAccount(Samples.account), .createSession(row)], events: [])
    row.counter = 1
    row.dpopThumbprint = "cut-here"
    proxy.cut(cut, "cut-here")
    let first = row
    try await store.change(row.session) { _, _ in Decision((), [.replaceSession(first, expecting: 0)]) }
    #expect(proxy.count == 1)
    let other = try await database.node(folder.path).openExisting().store
    var second = row
    second.counter = 2
    second.revision = 1
    proxy.cut(.before, "cut-here")
    // While the first attempt is lost, another node writes the row.
    try await other.write([.replaceSession(second, expecting: 1)], events: [])
    let third = row
    await #expect(throws: RegistryStoreError.conflict) {
      try await store.change(row.session) { _, _ in Decision((), [.replaceSession(third, expecting: 1)]) }
    }
    second.revision = 2
    #expect(proxy.count == 2)
    #expect(try await store.session(row.id) == second)
    try store.close()
    try other.close()
  }

  @Test func `to a server that is gone is unavailable, and comes back by itself`() async throws {
    defer { proxy.close() }
    let store = try await opened()
    let account = Samples.account
    try await store.write([.createAccount(account)], events: [])
    proxy.refuse(true)
    await #expect(throws: RegistryStoreError.self) { try await store.account(account.id) }
    await #expect(throws: RegistryStoreError.self) {
      try await store.write([.createSession(Samples.session(1))], events: [])
    }
    proxy.refuse(false)
    let found = await eventually { try? await store.account(account.id) }
    #expect(found == account)
    #expect(try await store.sessions(of: account.id) == [])
    try store.close()
  }

  @Test func `of a killed server loses no acknowledged write`() async throws {
    defer { proxy.close() }
    let cluster = try PostgresCluster()
    let database = try cluster.newDatabase()
    let store = try await database.node(folder.path).open().store
    try await store.write([.createAccount(Samples.account)], events: [])
    for round in 0..<3 as Range<UInt64> {
      let acknowledged = await withTaskGroup(of: SessionRow?.self) { group in
        for number in 0..<400 as Range<UInt64> {
          group.addTask {
            let row = Samples.session(round * 1000 + number)
            let event = Samples.established(row)
            return (try? await store.write([.createSession(row)], events: [event])) == nil ? nil : row
          }
        }
        var rows: [SessionRow] = []
        for await row in group {
          if let row { rows.append(row) }
          if rows.count == 50 { try? cluster.kill() }
        }
        return rows
      }
      try cluster.start()
      #expect(acknowledged.count >= 50)
      let rows = try #require(await eventually { try? await store.sessions(of: Samples.ada) })
      #expect(Set(acknowledged.map(\.id)).subtracting(rows.map(\.id)).isEmpty)
      // Each write is there completely or not at all, and events have no gaps.
      let events = try await store.events(after: .zero, account: nil, limit: 10_000)
      #expect(Set(events.compactMap(\.event.session)) == Set(rows.map(\.id)))
      #expect(events.map(\.id.rawValue) == Array(1...Int64(events.count)))
    }
    try store.close()
  }
}
#endif
