#if Verifier
import HandstampCore
import HandstampSupport

/// The clocks of a verifier.
struct VerifierClock: Sendable {
  /// The wall clock, for the times in tokens.
  let now: @Sendable () -> UnixTime
  /// A clock that cannot be set, and goes on while the machine sleeps: a feed is older after that, not as fresh as before.
  let uptime: @Sendable () -> Duration

  /// The clocks of this machine.
  static let system: VerifierClock = {
    let start = ContinuousClock.now
    return VerifierClock(
      now: {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UnixTime(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
      }, uptime: { start.duration(to: .now) })
  }()
}
#endif
