#if Server
import Dispatch
import GRDB
import GRDBSQLite
import HandstampSupport

/// Moves commits from the write-ahead log into the database file, on a connection of its own, while writes go on.
///
/// SQLite would do so at the end of a commit, and with many sessions in the file, whose pages lie far apart, that commit and all
/// behind it would wait. The next commit itself moves what was committed meanwhile, which is little: only after a complete move
/// does the log begin again from its start instead of growing.
///
/// A move starts only after a commit that is not moved yet, and the connection that writes makes no checkpoint while a move runs. Up to
/// SQLite 3.51.2 a checkpoint that finds everything moved already, while another connection begins the log again, may lose commits
/// (https://sqlite.org/wal.html#walresetbug).
final class Checkpointer: Sendable {
  /// The length of the log, in pages, at which a move starts: a quarter of SQLite's own limit, because long moves hold up the syncs
  /// of commits. With 100, moves do not keep up with a million sessions.
  static let limit: CInt = 250
  /// The length at which commits wait for the move, which a slow disk or a busy machine may hold up: 16 MB.
  static let longest: CInt = 4_000

  private enum Work {
    case waits, moves, isLeftToACommit, isClosed
  }

  private let database: DatabaseQueue
  private let queue = DispatchQueue(label: "handstamp checkpoint")
  private let work = Locked(Work.waits)
  private let moved = Locked(0)

  /// How many pages were moved while writes went on.
  var movedPages: Int { moved.withLock { $0 } }

  /// - Parameter configuration: the one of the connection that writes.
  init(path: String, configuration: Configuration) throws {
    database = try DatabaseQueue(path: path, configuration: configuration)
  }

  /// Watches the commits of a connection, in place of SQLite's own checkpoints. This object must outlive it.
  func watch(_ db: Database) {
    sqlite3_wal_hook(
      db.sqliteConnection,
      { context, connection, _, pages in
        guard let context else { return SQLITE_OK }
        let checkpointer = Unmanaged<Checkpointer>.fromOpaque(context).takeUnretainedValue()
        if pages < Checkpointer.limit {
          // The log has begun again.
          checkpointer.nothingIsLeft()
        } else {
          checkpointer.logIsLong(connection, pages)
        }
        // A commit is durable without it: SQLite ignores such failures, too, and tries again at the next commit.
        return SQLITE_OK
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Called after a commit, by the thread that made it: nothing is left of the last move.
  private func nothingIsLeft() {
    work.withLock { work in
      if case .isLeftToACommit = work { work = .waits }
    }
  }

  /// Called after a commit, by the thread that made it.
  private func logIsLong(_ connection: OpaquePointer?, _ pages: CInt) {
    let previous = work.withLock { work in
      let previous = work
      switch previous {
      case .waits: work = .moves
      case .isLeftToACommit: work = .waits
      case .moves, .isClosed: break
      }
      return previous
    }
    switch previous {
    case .waits: queue.async { self.move() }
    case .isLeftToACommit: finish(connection)
    case .moves where pages >= Checkpointer.longest:
      queue.sync {}
      nothingIsLeft()
      finish(connection)
    case .moves, .isClosed: break
    }
  }

  /// Moves what was committed meanwhile.
  private func finish(_ connection: OpaquePointer?) {
    sqlite3_wal_checkpoint_v2(connection, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
  }

  private func move() {
    // After a close there is no connection.
    let isOpen = work.withLock { work in
      if case .moves = work { true } else { false }
    }
    guard isOpen else { return }
    let pages = try? database.writeWithoutTransaction { db in try db.checkpoint(.passive).checkpointedFrameCount }
    moved.withLock { $0 += pages ?? 0 }
    work.withLock { work in
      if case .moves = work { work = pages == nil ? .waits : .isLeftToACommit }
    }
  }

  /// Waits for a move that has begun. Later commits move nothing.
  func close() {
    work.withLock { $0 = .isClosed }
    queue.sync {}
    try? database.close()
  }
}
#endif
