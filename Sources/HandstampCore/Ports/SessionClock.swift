/// Where a session reads its time, and what it waits by.
public protocol SessionClock: Sendable {
  func now() -> Moment
  /// ``Moment/uptime`` alone: read on every fast path.
  func uptime() -> Duration
  /// Returns after `duration`, or throws `CancellationError` when its task is cancelled.
  @concurrent func sleep(for duration: Duration) async throws
}

extension SessionClock {
  /// Returns when the program has run for `duration`. It is counted in steps of a second: of a program that was suspended one
  /// of them has passed when it goes on, however long that was.
  package func sleep(whileRunningFor duration: Duration) async throws {
    var left = duration
    repeat {
      let step = min(.seconds(1), left)
      try await sleep(for: step)
      left -= step
    } while left > .zero
  }
}
