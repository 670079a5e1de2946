import HandstampSupport
public import HandstampCore

/// The device's clocks. Uptime includes sleep: `CLOCK_BOOTTIME` on Linux, and `CLOCK_MONOTONIC` on Apple platforms,
/// where it includes sleep as well.
public struct SystemClock: SessionClock {
  /// Zero if the system has none: uptime alone must do then. A token that looks fresh after a reboot costs one 401 and a
  /// refresh.
  private let boot: UInt64

  public init() { boot = BootClock.id }

  public func now() -> Moment {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    let wall = UnixTime(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    return Moment(boot: boot, uptime: uptime(), wall: wall)
  }

  public func uptime() -> Duration { BootClock.uptime }

  @concurrent public func sleep(for duration: Duration) async throws {
    // A limit of `.seconds(.max)`, meaning never, would trap inside; a century is long enough.
    try await Task.sleep(for: min(duration, Duration.seconds(100 * 366 * 86_400)), clock: .continuous)
  }
}
