#if Programs
import Handstamp
import HandstampSupport

/// The system's clock, moved ahead at will.
struct LaterClock: SessionClock {
  let offset = Locked(Duration.zero)
  private let base = SystemClock()

  func advance(by duration: Duration) { offset.withLock { $0 += duration } }
  func now() -> Moment { base.now().advanced(by: offset.withLock { $0 }) }
  func uptime() -> Duration { base.uptime() + offset.withLock { $0 } }
  @concurrent func sleep(for duration: Duration) async throws { try await base.sleep(for: duration) }
}
#endif
