#if PostgreSQL
import Foundation
import HandstampCore
import HandstampPostgres
import HandstampRegistry
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A PostgreSQL store` {
  /// A store that remembers its database, so that a second node can be opened on it.
  private struct Opened: StoreDecorator {
    let database: TestDatabase
    let folder: Folder
    let base: PostgresRegistryStore

    init(_ database: TestDatabase, _ folder: Folder) async throws {
      self.database = database
      self.folder = folder
      base = try await database.node(folder.path).open().store
    }
  }

  @Test func `keeps the promises of a store`() async throws {
    let cluster = try PostgresCluster.shared.get()
    try await checkRegistryStore { try await Opened(try cluster.newDatabase(), try Folder()) }
  }

  @Test func `keeps them between two nodes on one database`() async throws {
    let cluster = try PostgresCluster.shared.get()
    try await checkRegistryStore {
      try await Opened(try cluster.newDatabase(), try Folder())
    } again: {
      try await Opened($0.database, $0.folder)
    }
  }
}
#endif
