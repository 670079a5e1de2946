/// Where a session reads its time, and what it waits by.
public protocol SessionClock: Sendable {
  func now() -> Moment
  /// ``Moment/uptime`` alone: read on every fast path.
  func uptime() -> Duration
  /// Returns after `duration`, or throws `CancellationError` when its task is cancelled.
  @concurrent func sleep(for duration: Duration) async throws
}
