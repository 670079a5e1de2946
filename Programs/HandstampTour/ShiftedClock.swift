#if Operator && DEBUG
import Handstamp
import HandstampSupport

/// The system clock, moved ahead so that a token expires without waiting.
final class ShiftedClock: SessionClock {
  private let base = SystemClock()
  private let shift = Locked(Duration.zero)

  init() {}

  func advance(by duration: Duration) { shift.withLock { $0 += duration } }

  func now() -> Moment { base.now().advanced(by: shift.withLock { $0 }) }
  func uptime() -> Duration { base.uptime() + shift.withLock { $0 } }
  @concurrent func sleep(for duration: Duration) async throws { try await base.sleep(for: duration) }
}
#endif
