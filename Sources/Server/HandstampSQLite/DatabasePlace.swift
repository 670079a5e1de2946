#if Server
import GRDB
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// The identity of a database's files when it was opened.
///
/// SQLite keeps using a file that was deleted or replaced: it would acknowledge writes that are lost at the next start, and a
/// new connection would read another database. So results are returned only while the files are still the same.
final class DatabasePlace: Sendable {
  private let path: String
  private let database: FileIdentity?
  private let log: FileIdentity?
  private let isGivenUp = Locked(false)
  private let found = Locked<String?>(nil)

  init(path: String) {
    self.path = path
    database = FileIdentity(path: path)
    log = FileIdentity(path: path + "-wal")
  }

  /// The error if the files have changed; `nil` while they are the same.
  var trouble: RegistryStoreError? {
    if isGivenUp.withLock({ $0 }) { return .unavailable("the contents of \(path) were replaced") }
    for (path, identity) in [(path, database), (path + "-wal", log)] {
      guard let identity else { continue }
      guard let present = FileIdentity(path: path) else { return .unavailable("\(path) is missing") }
      guard present == identity else { return .unavailable("\(path) was replaced by another file") }
    }
    return nil
  }

  /// See ``RegistryStore/damage``.
  var damage: String? { found.withLock { $0 } }

  /// Describes why a read or write failed, and remembers that the database is damaged if that is why.
  func failure(_ error: any Error) -> RegistryStoreError {
    if let error = error as? DatabaseError, [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode) {
      found.withLock { $0 = $0 ?? "\(path) is damaged: \(error.message ?? "error")" }
    }
    return .trouble(error)
  }

  /// Makes ``trouble`` permanent: the file is the same, but its contents were replaced.
  func giveUp() { isGivenUp.withLock { $0 = true } }
}
#endif
