#if Data
import Foundation
public import GRDB
public import HandstampCore

/// One account's database: a cache of what its server shows, which can be fetched again.
///
/// ```swift
/// let place = try StorePlace("org.example.forum", account: account)
/// let store = try DataStore(place, schema: .forum)
/// for try await threads in store.values({ try Thread.fetchAll($0) }) { show(threads) }
/// ```
/// Reads run beside each other and beside the one writer, and see what was committed when they began. What a write has
/// acknowledged survives the end of the program, whatever ends it; a power cut may take the last moments.
///
/// Since it is a cache, what is broken is made anew instead of reported: a file that is damaged, is none of SQLite's, or was
/// written by a newer version. ``rebuilds`` counts that.
public final class DataStore: Sendable {
  public let place: StorePlace
  let schema: StoreSchema
  let clock: any SessionClock
  let content: Locked<Content>
  /// Holds one opening, erasing or rebuilding at a time, in this program and in others.
  let turn = NSLock()
  let inUse = InUse()

  struct Content: Sendable {
    var generation: Generation?
    var rebuilds = 0
    var isRemoved = false
    var followers: [UInt64: AsyncStream<Generation?>.Continuation] = [:]
    var lastFollower: UInt64 = 0
  }

  /// Opens the account's database, and makes it where there is none.
  ///
  /// - Throws: ``StoreError/unusable(_:)`` when the disk does not let it; ``StoreError/statement(_:)`` when a migration is wrong.
  public init(_ place: StorePlace, schema: StoreSchema, clock: any SessionClock = WallClock()) throws(StoreError) {
    self.place = place
    self.schema = schema
    self.clock = clock
    content = Locked(Content())
    _ = try current()
  }

  deinit { for follower in content.withLock({ $0.followers.values.map { $0 } }) { follower.finish() } }

  /// How often a broken database was made anew since this object was made, and at its opening.
  public var rebuilds: Int { content.withLock { $0.rebuilds } }

  // MARK: Reading and writing

  /// Changes the database in one transaction, away from the caller's thread. When it returns, what was written is there for
  /// good; when it throws, nothing was.
  ///
  /// - Parameter change: may run a second time, in an empty database, when the first one met a broken file.
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

  /// Reads without waiting for writers, on the caller's thread: for the main actor.
  public func read<Result>(_ fetch: (Database) throws -> Result) throws -> Result {
    let generation = try current()
    do { return try generation.pool.read(fetch) } catch {
      guard try renew(after: error, generation) else { throw error }
      return try current().pool.read(fetch)
    }
  }

  /// Reads away from the caller's thread.
  @concurrent public func fetch<Result: Sendable>(
    _ fetch: @escaping @Sendable (Database) throws -> Result
  ) async throws -> Result {
    let generation = try current()
    do { return try await generation.pool.read(fetch) } catch {
      guard try renew(after: error, generation) else { throw error }
      return try await current().pool.read(fetch)
    }
  }

  /// Waits for the writes that were asked for before, and brings all of them into the database's main file: for the moment
  /// when the app goes to the background.
  @concurrent public func flush() async throws {
    let generation = try current()
    do {
      try await generation.pool.writeWithoutTransaction { database in _ = try database.checkpoint(.full) }
    } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
      // A reader is still in the older part. What was written is in the log, and safe there.
    } catch {
      guard try renew(after: error, generation) else { throw error }
    }
  }

  /// How many bytes the rows take on the disk, without what the write-ahead log holds.
  @concurrent public func usedBytes() async throws -> Int {
    try await fetch { database in
      func count(_ name: String) throws -> Int { try Int.fetchOne(database, sql: "PRAGMA \(name)") ?? 0 }
      return try (count("page_count") - count("freelist_count")) * count("page_size")
    }
  }
}

/// The device's civil time: what a cache measures ages by, since it must outlive restarts.
public struct WallClock: SessionClock {
  public init() {}

  public func now() -> Moment {
    Moment(
      boot: 0, uptime: uptime(), wall: UnixTime(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)))
  }

  public func uptime() -> Duration { .seconds(ProcessInfo.processInfo.systemUptime) }

  @concurrent public func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}
#endif
