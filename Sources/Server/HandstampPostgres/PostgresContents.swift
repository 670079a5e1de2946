#if PostgreSQL
import Dispatch
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// Whether the database still has what this node has seen. If an older copy took its place (it was restored, or a standby was
/// promoted that may lack transactions), everything is refused until this node has taken away again what it had ended or taken away.
///
/// A promotion and a restore begin another timeline, and break connections. So each new connection is compared with the previous
/// ones; behind a pooler, which keeps connections, once a second. Besides, a clock note never goes back.
final class PostgresContents: Sendable {
  private struct State {
    /// The database and its timeline; `nil` before the first connection.
    var identity: String?
    /// The highest revision of the clock note that was seen.
    var newestNote: Int64 = -1
    /// Why everything is refused; `nil` if it is not.
    var trouble: String?
    var isClosed = false
    var reapplied: Reapplied
    var replacements = 0
  }

  private let address: PostgresAddress
  private let keys: ServerKeys
  private let ends: EndLog
  private let clock: ClockFile
  private let state: Locked<State>

  init(_ address: PostgresAddress, keys: ServerKeys, ends: EndLog, clock: ClockFile, reapplied: Reapplied) {
    self.address = address
    self.keys = keys
    self.ends = ends
    self.clock = clock
    state = Locked(State(reapplied: reapplied))
  }

  var reapplied: Reapplied { state.withLock { $0.reapplied } }
  /// Counted before anything else is read from a new copy.
  var replacements: Int { state.withLock { $0.replacements } }

  /// Refuses while the contents of the database are doubted.
  func requireSound() throws(RegistryStoreError) {
    if let trouble = state.withLock({ $0.trouble }) { throw .unavailable(trouble) }
  }

  /// Ends a recovery that goes on.
  func close() { state.withLock { $0.isClosed = true } }

  // MARK: The database behind a connection

  /// Identifies a database and its timeline.
  static let identity = PostgresStatement(
    """
    SELECT oid::bigint::text || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
    FROM pg_database WHERE datname = current_database()
    """, isFrequent: false)

  /// Refuses a connection to another database, or another timeline of it, than the previous ones.
  func check(_ connection: PostgresConnection) throws(PostgresError) {
    let identity = try connection.run(PostgresContents.identity, until: .now + .seconds(3)).text
    guard let identity, saw(identity) else { throw .unconnected(PostgresContents.replaced) }
  }

  /// Returns `false` if that is another database than before, and begins to recover.
  func saw(_ identity: String) -> Bool {
    let isKnown = state.withLock { state in
      if state.identity == nil { state.identity = identity }
      return state.identity == identity
    }
    if !isKnown { recover() }
    return isKnown
  }

  // MARK: The clock note

  var newestNote: Int64 { state.withLock { $0.newestNote } }

  func saw(_ note: ClockNote) { state.withLock { $0.newestNote = max($0.newestNote, note.revision) } }

  // MARK: Recovery

  static let replaced =
    "the contents of the database were replaced; what ended or was taken away since is being taken away again"

  /// Takes away again what this node has ended or taken away, as often as that takes.
  func recover() {
    let isFirst = state.withLock { state in
      guard state.trouble == nil else { return false }
      state.trouble = PostgresContents.replaced
      state.replacements += 1
      return true
    }
    guard isFirst else { return }
    let lane = PostgresLane(address, PostgresOutage(), named: "recovery")
    lane.queue.async { [self] in
      while !state.withLock({ $0.isClosed }) {
        do throws(RegistryOpenError) {
          let (identity, again) = try reapply(on: lane)
          state.withLock { state in
            state.identity = identity
            state.newestNote = -1
            state.reapplied.add(again)
            state.trouble = nil
          }
          break
        } catch {
          state.withLock { $0.trouble = "\(PostgresContents.replaced): \(error)" }
          usleep(200_000)
        }
      }
      lane.disconnect()
    }
  }

  private func reapply(
    on lane: PostgresLane
  ) throws(RegistryOpenError) -> (identity: String, reapplied: Reapplied) {
    let opening = PostgresOpening(lane: lane, address: address)
    _ = try opening.checkServer()
    // Before what is read, so that a further change is noticed.
    let identity = try opening.identity()
    try opening.prepared(migrating: false) { connection, found throws(RegistryOpenError) in
      guard case .bound = found else { throw .tablesMissing(path: address.description) }
      try opening.bind(connection, found, to: keys)
    }
    let again = try opening.reapply(try ends.read(), writer: PostgresWriter())
    if let kept = try clock.read() { try opening.catchUp(with: kept) }
    return (identity, again)
  }
}
#endif
