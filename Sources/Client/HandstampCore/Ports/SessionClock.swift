/// The clock of a session.
public protocol SessionClock: Sendable {
  /// Returns the current moment.
  func now() -> Moment
  /// Returns ``Moment/uptime`` only: read on every fast path.
  func uptime() -> Duration
  /// Returns after `duration`, or throws `CancellationError` when its task is cancelled.
  @concurrent func sleep(for duration: Duration) async throws
}

extension SessionClock {
  /// Returns when the program has run for `duration`. Counted in steps of one second: a suspension of any length counts as one
  /// step.
  package func sleep(whileRunningFor duration: Duration) async throws {
    var left = duration
    repeat {
      let step = min(.seconds(1), left)
      try await sleep(for: step)
      left -= step
    } while left > .zero
  }
}
