#if Data
import Foundation
public import GRDB
import Handstamp
public import HandstampCore
import HandstampSupport

/// One account's database: a cache of content that can be fetched from the server again.
///
/// ```swift
/// let place = try StorePlace("org.example.forum", account: account)
/// let store = try DataStore(place, schema: .forum)
/// for try await threads in store.values({ try Thread.fetchAll($0) }) { show(threads) }
/// ```
/// Reads run in parallel with each other and with the single writer, and see what was committed when they began. An
/// acknowledged write survives the end of the process, however it ends; a power cut may lose the latest writes.
///
/// Since it is a cache, a defective file is replaced instead of reported: one that is corrupt, not an SQLite database,
/// or written by a newer version. ``rebuilds`` counts the replacements.
public final class DataStore: Sendable {
  public let place: StorePlace
  let schema: StoreSchema
  let clock: any SessionClock
  let content: Locked<Content>
  /// Serializes opening, erasing and rebuilding, in this program and in others.
  let turn = NSLock()
  let inUse = InUse()
  /// The database in use, `nil` after its removal, for observers.
  let generations = Multicast<Generation?>(startingWith: .some(nil), buffering: .bufferingNewest(1))

  struct Content: Sendable {
    var generation: Generation?
    var rebuilds = 0
    var isRemoved = false
  }

  /// Opens the account's database, creating it if there is none.
  ///
  /// - Throws: ``StoreError/unusable(_:)`` if the disk prevents it; ``StoreError/statement(_:)`` if a migration is
  ///   wrong.
  public init(_ place: StorePlace, schema: StoreSchema, clock: any SessionClock = WallClock()) throws(StoreError) {
    self.place = place
    self.schema = schema
    self.clock = clock
    content = Locked(Content())
    _ = try current()
  }

  /// The number of times a corrupt database was rebuilt since this object was created, including at opening.
  public var rebuilds: Int { content.withLock { $0.rebuilds } }

  // MARK: Reading and writing

  /// Changes the database in one transaction, off the caller's thread. When it returns, the change is committed; when
  /// it throws, nothing was changed.
  ///
  /// - Parameter change: May run a second time, on an empty database, if the first run encountered a corrupt file.
  @concurrent @discardableResult
  public func write<Result: Sendable>(
    _ change: @escaping @Sendable (Database) throws -> Result
  ) async throws -> Result {
    let generation = try current()
    do { return try await generation.pool.write(change) } catch {
      guard try renew(after: error, generation) else { throw error }
      return try await current().pool.write(change)
    }
  }

  /// Reads on the caller's thread without waiting for writers, which makes it suitable for the main actor.
  public func read<Result>(_ fetch: (Database) throws -> Result) throws -> Result {
    let generation = try current()
    do { return try generation.pool.read(fetch) } catch {
      guard try renew(after: error, generation) else { throw error }
      return try current().pool.read(fetch)
    }
  }

  /// Reads off the caller's thread.
  @concurrent public func fetch<Result: Sendable>(
    _ fetch: @escaping @Sendable (Database) throws -> Result
  ) async throws -> Result {
    let generation = try current()
    do { return try await generation.pool.read(fetch) } catch {
      guard try renew(after: error, generation) else { throw error }
      return try await current().pool.read(fetch)
    }
  }

  /// Waits for all earlier writes and moves them into the database's main file. Call it when the app enters the
  /// background.
  @concurrent public func flush() async throws {
    let generation = try current()
    do {
      try await generation.pool.writeWithoutTransaction { database in _ = try database.checkpoint(.full) }
    } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
      // A reader still uses the older part. The writes are safe in the log.
    } catch {
      guard try renew(after: error, generation) else { throw error }
    }
  }

  /// Returns the disk space of all rows in bytes, without the write-ahead log.
  @concurrent public func usedBytes() async throws -> Int {
    try await fetch { database in
      func count(_ name: String) throws -> Int { try Int.fetchOne(database, sql: "PRAGMA \(name)") ?? 0 }
      return try (count("page_count") - count("freelist_count")) * count("page_size")
    }
  }
}

/// The device's wall-clock time, by which a cache measures ages, since these must survive restarts.
public struct WallClock: SessionClock {
  public init() {}

  public func now() -> Moment {
    Moment(
      boot: 0, uptime: uptime(), wall: UnixTime(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)))
  }

  public func uptime() -> Duration { SystemClock().uptime() }

  @concurrent public func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}
#endif
