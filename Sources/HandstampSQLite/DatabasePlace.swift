#if SQLite
import HandstampCore
import HandstampRegistry

/// The files of an open database, as they stood when it was opened.
///
/// SQLite goes on with a file that was deleted or replaced: it would acknowledge writes that no later start finds, and a new
/// connection would read another database. So each answer is given only while the files stand where they stood.
final class DatabasePlace: Sendable {
  private let path: String
  private let database: FileIdentity?
  private let log: FileIdentity?
  private let isGivenUp = Locked(false)

  init(path: String) {
    self.path = path
    database = FileIdentity(path: path)
    log = FileIdentity(path: path + "-wal")
  }

  /// What is wrong with the files now; `nil` while they are the same as before.
  var trouble: RegistryStoreError? {
    if isGivenUp.withLock({ $0 }) { return .unavailable("another content was copied into \(path)") }
    for (path, identity) in [(path, database), (path + "-wal", log)] {
      guard let identity else { continue }
      guard let present = FileIdentity(path: path) else { return .unavailable("\(path) is gone") }
      guard present == identity else { return .unavailable("\(path) was replaced by another file") }
    }
    return nil
  }

  /// From now on there is trouble: the file is the same, and what is in it is not.
  func giveUp() { isGivenUp.withLock { $0 = true } }
}
#endif
