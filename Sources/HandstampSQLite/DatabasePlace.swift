#if SQLite
import HandstampRegistry

/// The files of an open database, as they stood when it was opened.
///
/// SQLite goes on with a file that was deleted or replaced: it would acknowledge writes that no later start finds, and a new
/// connection would read another database. So each answer is given only while the files stand where they stood.
struct DatabasePlace: Sendable {
  private let path: String
  private let database: FileIdentity?
  private let log: FileIdentity?

  init(path: String) {
    self.path = path
    database = FileIdentity(path: path)
    log = FileIdentity(path: path + "-wal")
  }

  /// What is wrong with the files now; `nil` while they are the same as before.
  var trouble: RegistryStoreError? {
    for (path, identity) in [(path, database), (path + "-wal", log)] {
      guard let identity else { continue }
      guard let present = FileIdentity(path: path) else { return .unavailable("\(path) is gone") }
      guard present == identity else { return .unavailable("\(path) was replaced by another file") }
    }
    return nil
  }
}
#endif
