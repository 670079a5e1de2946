#if PostgreSQL
import Foundation
import HandstampCore
import HandstampPostgres
import HandstampRegistry
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Through a transaction pooler` {
  @Test func `a store keeps its promises, and looks for events by itself`() async throws {
    let cluster = try PostgresCluster.shared.get()
    let pooler = try Pooler(before: cluster)
    defer { pooler.stop() }
    let folder = try Folder()
    try await checkRegistryStore {
      try await Pooled(address: pooler.address(of: try cluster.newDatabase().name), folder: folder)
    } again: {
      try await Pooled(address: $0.address, folder: folder)
    }
    let store = try await Pooled(address: pooler.address(of: try cluster.newDatabase().name), folder: folder).base
    #expect(store.isPooled)
    #expect(store.news()?.patience() == .milliseconds(200))
    store.release()
  }

  /// A store on a new database, with keys of its own.
  private struct Pooled: StoreDecorator {
    let address: PostgresAddress
    let base: PostgresRegistryStore

    init(address: PostgresAddress, folder: Folder) async throws {
      self.address = address
      let node = folder.path + "/" + address.description.split(separator: "/").joined(separator: "-")
      try? FileManager.default.createDirectory(atPath: node, withIntermediateDirectories: false)
      base = try await PostgresDatabase(address, folder: node, connections: 6).open().store
    }
  }
}

/// PgBouncer, which gives each transaction to any session of the server.
// Unchecked: its process is only stopped, by the test that has started it.
private final class Pooler: @unchecked Sendable {
  private let folder: String
  private let process = Process()

  init(before cluster: PostgresCluster) throws {
    folder = cluster.folder + "/pooler"
    let configuration = """
      [databases]
      * = host=\(cluster.folder) user=postgres
      [pgbouncer]
      listen_addr =
      listen_port = 5432
      unix_socket_dir = \(folder)
      auth_type = any
      pool_mode = transaction
      default_pool_size = 3
      max_client_conn = 500
      pidfile = \(folder)/pid
      """
    try PostgresCluster.run(
      "sh", "-ec", "mkdir -m 777 '\(folder)'; cat > '\(folder)/ini' <<'END'\n\(configuration)\nEND")
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = [
      "-c", PostgresCluster.asOwner("pgbouncer -q '\(folder)/ini' >'\(folder)/log' 2>&1 & cat >/dev/null; kill -9 $!"),
    ]
    process.standardInput = Pipe()
    try process.run()
    try PostgresCluster.run(
      "sh", "-c",
      "for i in $(seq 4800); do [ -S '\(folder)/.s.PGSQL.5432' ] && exit; sleep 0.05; done; cat '\(folder)/log'; exit 1"
    )
  }

  func address(of database: String) throws -> PostgresAddress {
    try PostgresAddress("postgresql://postgres@/\(database)?host=\(folder)")
  }

  func stop() {
    try? (process.standardInput as? Pipe)?.fileHandleForWriting.close()
    process.waitUntilExit()
  }
}
#endif
