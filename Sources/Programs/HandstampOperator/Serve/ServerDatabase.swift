#if Operator
import HandstampPostgres
import HandstampRegistry
import HandstampSQLite
import HandstampServer

/// Where the sessions of a server are: in its data folder, or in PostgreSQL.
enum ServerDatabase: Sendable {
  case folder(ServerFolder)
  case postgres(PostgresDatabase)

  /// - Parameter address: of PostgreSQL; `nil` is the folder.
  init(data: String, address: String?, connections: Int? = nil) throws(RegistryOpenError) {
    guard let address else {
      self = .folder(ServerFolder(path: data))
      return
    }
    self = .postgres(
      PostgresDatabase(
        try PostgresAddress(address), folder: data, connections: connections ?? PostgresDatabase.standardConnections))
  }

  /// Whether servers with folders of their own can share it.
  var isShared: Bool { if case .postgres = self { true } else { false } }

  /// Opens it, and creates it the first time.
  func open(keys: ServerKeys?) async throws(RegistryOpenError) -> (store: any ServerStore, keys: ServerKeys) {
    switch self {
    case .folder(let folder): try folder.open(keys: keys)
    case .postgres(let database): try await database.open(keys: keys)
    }
  }

  /// Opens what a server has created and may be using. Creates and migrates nothing.
  func openExisting(keys: ServerKeys?) async throws(RegistryOpenError) -> (store: any ServerStore, keys: ServerKeys) {
    switch self {
    case .folder(let folder): try folder.openExisting(keys: keys)
    case .postgres(let database): try await database.openExisting(keys: keys)
    }
  }

  /// Creates it for keys that are kept elsewhere.
  func create(keys: ServerKeys) async throws(RegistryOpenError) {
    switch self {
    case .folder(let folder): try folder.createDatabase(keys: keys)
    case .postgres(let database): try await database.createTables(keys: keys)
    }
  }
}
#endif
