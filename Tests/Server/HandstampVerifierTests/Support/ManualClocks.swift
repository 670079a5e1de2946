#if Programs
import HandstampCore
import HandstampSupport

@testable import HandstampVerifier

/// The clocks of a verifier, moved by tests.
final class ManualClocks: Sendable {
  private let time = Locked((wall: UnixTime(seconds: 1_800_000_000), uptime: Duration.seconds(1000)))

  var now: UnixTime { time.withLock { $0.wall } }
  var uptime: Duration { time.withLock { $0.uptime } }
  var clock: VerifierClock { VerifierClock(now: { self.now }, uptime: { self.uptime }) }

  func advance(by duration: Duration) {
    time.withLock { $0 = ($0.wall.advanced(by: duration), $0.uptime + duration) }
  }
}
#endif
