#if PostgreSQL
import HandstampRegistry
import HandstampStorage
import HandstampSupport

extension PostgresRegistryStore {
  /// Ends again what this node has ended, after an older copy of the database took the place of the one before: it was restored, or
  /// a standby was promoted that lacked transactions. Until that is done, the store refuses everything.
  func recover() {
    let isFirst = state.withLock { state in
      state.trouble = "the contents of the database were replaced by an older copy"
      guard !state.isRecovering else { return false }
      state.isRecovering = true
      return true
    }
    guard isFirst else { return }
    let isAccepted = pool.submit(for: .maintenance) { [self] lane in
      do throws(RegistryOpenError) {
        let again = try endAgain(on: lane)
        state.withLock { state in
          state.trouble = nil
          state.isRecovering = false
          state.endedAgain += again
          state.newestNote = -1
        }
      } catch {
        // The next reading of the clock note tries again.
        state.withLock { state in
          state.trouble = "\(error)"
          state.isRecovering = false
        }
      }
    }
    if !isAccepted { state.withLock { $0.isRecovering = false } }
  }

  private func endAgain(on lane: PostgresLane) throws(RegistryOpenError) -> Int {
    let opening = PostgresOpening(lane: lane, address: address)
    _ = try opening.checkServer()
    try opening.prepared(migrating: false) { connection, found throws(RegistryOpenError) in
      guard case .bound = found else { throw .databaseEmpty(path: address.description) }
      try opening.bind(connection, found, to: keys)
    }
    guard let ends, let clock else { return 0 }
    let again = try opening.endAgain(try ends.read().ends, writer: PostgresWriter())
    if let kept = try clock.read() { try opening.catchUp(with: kept) }
    return again
  }
}
#endif
