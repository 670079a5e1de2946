#if Data
import Foundation
import GRDB
import HandstampCore
import HandstampSupport

/// Opening, erasing and rebuilding.
extension DataStore {
  /// Erases everything and continues with an empty database. Safe during reads: they finish on the old database, and
  /// observers receive the empty one.
  ///
  /// A write in progress counts as having come before.
  public func erase() throws(StoreError) { _ = try advance(from: nil) }

  /// Erases everything and closes the store, for the account's sign-out. Observers' sequences end, and every later use
  /// throws ``StoreError/removed``. Calling it twice is harmless.
  public func remove() throws(StoreError) {
    turn.lock()
    defer { turn.unlock() }
    content.withLock { content in
      content.isRemoved = true
      content.generation = nil
    }
    generations.publish(nil)
    generations.finish()
    try place.remove()
  }

  /// Returns the database in use.
  func current() throws(StoreError) -> Generation {
    let (known, isRemoved) = content.withLock { ($0.generation, $0.isRemoved) }
    if isRemoved { throw .removed }
    if let known, known.isCurrent { return known }
    turn.lock()
    defer { turn.unlock() }
    let (now, isGone) = content.withLock { ($0.generation, $0.isRemoved) }
    if isGone { throw .removed }
    if let now, now.isCurrent { return now }
    try place.prepare()
    let lock = try FolderLock(place.folder)
    return try withExtendedLifetime(lock) { () throws(StoreError) in try open() }
  }

  /// Replaces the database with an empty one if `error` means that it is corrupt. Returns whether it did.
  func renew(after error: any Error, _ generation: Generation) throws -> Bool {
    guard DataStore.isBroken(error) else { return false }
    _ = try advance(from: generation)
    return true
  }

  /// - Parameter broken: The database to replace, unless already replaced; `nil` replaces the current one.
  private func advance(from broken: Generation?) throws(StoreError) -> Generation {
    turn.lock()
    defer { turn.unlock() }
    let (now, isGone) = content.withLock { ($0.generation, $0.isRemoved) }
    if isGone { throw .removed }
    if let now, let broken, now !== broken { return now }
    if broken != nil { content.withLock { $0.rebuilds += 1 } }
    try place.prepare()
    let lock = try FolderLock(place.folder)
    return try withExtendedLifetime(lock) { () throws(StoreError) in
      let last = Generation.numbers(in: place.folder).last ?? now?.number ?? 0
      // Another program may have replaced the corrupt one already.
      if let broken, last > broken.number { return try open() }
      return try open(at: last + 1)
    }
  }

  /// Opens the newest file, replacing a corrupt one. The caller holds both locks.
  private func open() throws(StoreError) -> Generation {
    let last = Generation.numbers(in: place.folder).last ?? 1
    if let generation = try make(last) { return use(generation) }
    content.withLock { $0.rebuilds += 1 }
    return try open(at: last + 1)
  }

  private func open(at number: Int) throws(StoreError) -> Generation {
    Generation.remove(number, in: place.folder)
    guard let generation = try make(number) else { throw .unusable("a new database is broken") }
    return use(generation)
  }

  /// Opens or creates a database; `nil` if it is corrupt, or a newer version of the program wrote it.
  private func make(_ number: Int) throws(StoreError) -> Generation? {
    do { return try Generation(number: number, in: place.folder, schema: schema) } catch {
      if DataStore.isBroken(error) { return nil }
      if let error = error as? DatabaseError {
        let isStatement = [.SQLITE_ERROR, .SQLITE_CONSTRAINT].contains(error.resultCode)
        let text = error.message ?? "SQLite error \(error.extendedResultCode.rawValue)"
        throw isStatement ? StoreError.statement(text) : .unusable(text)
      }
      throw .unusable(String(describing: type(of: error)))
    }
  }

  /// Switches to `generation`, and unlinks older files.
  private func use(_ generation: Generation) -> Generation {
    content.withLock { $0.generation = generation }
    generations.publish(generation)
    for number in Generation.numbers(in: place.folder) where number < generation.number {
      Generation.remove(number, in: place.folder)
    }
    return generation
  }

  static func isBroken(_ error: any Error) -> Bool {
    guard let error = error as? DatabaseError else { return false }
    return [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode)
      || error.extendedResultCode == .SQLITE_IOERR_SHORT_READ
  }
}
#endif
