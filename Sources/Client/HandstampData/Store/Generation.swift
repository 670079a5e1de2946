#if Data
import Foundation
import GRDB
import HandstampSupport

/// One database file, from its creation to the next erasure. Readers of an older generation finish on its file, which
/// has no name any more and is deleted with its last reader. The next one has another name: SQLite removes the log of a file by its
/// name, so a new file of the same name could lose its log to a reader of the old one.
final class Generation: Sendable {
  let number: Int
  let pool: DatabasePool
  private let path: String
  private let identity: FileIdentity?

  /// `nil` if a newer version of the program wrote the database.
  init?(number: Int, in folder: URL, schema: StoreSchema) throws {
    self.number = number
    path = Generation.url(number, in: folder).path
    var configuration = Configuration()
    configuration.busyMode = .timeout(10)
    configuration.prepareDatabase { database in
      guard !database.configuration.readonly else { return }
      // Takes effect for a new file only, before it has any content.
      try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA synchronous = NORMAL;")
    }
    pool = try DatabasePool(path: path, configuration: configuration)
    if try pool.read(schema.migrator.hasBeenSuperseded) { return nil }
    try schema.migrator.migrate(pool)
    try pool.write { database in for table in schema.tables { try table.prepare(database) } }
    identity = FileIdentity(path: path)
  }

  /// Whether the name still refers to this file: another program may have erased the account.
  var isCurrent: Bool { identity != nil && FileIdentity(path: path) == identity }

  static func url(_ number: Int, in folder: URL) -> URL { folder.appendingPathComponent("store-\(number).sqlite") }

  /// Returns the numbers of the files in `folder`, in ascending order.
  static func numbers(in folder: URL) -> [Int] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    let numbers = names.compactMap { name -> Int? in
      guard name.hasPrefix("store-"), let dot = name.firstIndex(of: ".") else { return nil }
      return Int(name[name.index(name.startIndex, offsetBy: 6)..<dot])
    }
    return Set(numbers).sorted()
  }

  static func remove(_ number: Int, in folder: URL) {
    for ending in ["", "-wal", "-shm", "-journal"] {
      unlink(url(number, in: folder).path + ending)
    }
  }
}

/// A lock across processes, held until it is deallocated.
final class FolderLock {
  private let descriptor: Int32

  init(_ folder: URL) throws(StoreError) {
    descriptor = open(folder.appendingPathComponent("store.lock").path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .unusable("the lock cannot be opened: \(errno)") }
    do throws(SystemError) { try SystemCall.retried("lock") { flock(descriptor, LOCK_EX) } } catch {
      throw .unusable("the lock cannot be taken: \(error.code)")
    }
  }

  deinit { close(descriptor) }
}
#endif
