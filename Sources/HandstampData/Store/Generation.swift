#if Data
import Foundation
import GRDB

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// One database file, from its making to the next erasure. Whoever still reads in an older one reads on in what he began with;
/// its file has no name any more and goes when he is done.
final class Generation: Sendable {
  let number: Int
  let pool: DatabasePool
  private let path: String
  private let identity: FileIdentity?

  init(number: Int, in folder: URL, schema: StoreSchema) throws {
    self.number = number
    path = Generation.url(number, in: folder).path
    var configuration = Configuration()
    configuration.busyMode = .timeout(10)
    configuration.prepareDatabase { database in
      guard !database.configuration.readonly else { return }
      // Counts for a new file only, and before anything is in it.
      try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA synchronous = NORMAL;")
    }
    pool = try DatabasePool(path: path, configuration: configuration)
    if try pool.read(schema.migrator.hasBeenSuperseded) { throw Superseded() }
    try schema.migrator.migrate(pool)
    try pool.write { database in for shelf in schema.shelves { try shelf.prepare(database) } }
    identity = FileIdentity(path)
  }

  /// A newer version of the program wrote it.
  struct Superseded: Error {}

  /// Whether the name still means this file: another program may have erased the account.
  var isCurrent: Bool { identity != nil && FileIdentity(path) == identity }

  static func url(_ number: Int, in folder: URL) -> URL { folder.appendingPathComponent("store-\(number).sqlite") }

  /// The numbers of the files in `folder`, in their order.
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

/// A lock across processes, held until it goes away.
final class FolderLock {
  private let descriptor: Int32

  init(_ folder: URL) throws(StoreError) {
    descriptor = open(folder.appendingPathComponent("store.lock").path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .unusable("the lock cannot be opened: \(errno)") }
    while flock(descriptor, LOCK_EX) != 0 {
      guard errno == EINTR else {
        let code = errno
        close(descriptor)
        throw .unusable("the lock cannot be taken: \(code)")
      }
    }
  }

  deinit { close(descriptor) }
}
#endif
