/// A reading of a device's clocks: what time it says it is, and how long it has been running.
///
/// Durations are measured by ``uptime``, which counts sleep and which nobody can set; it starts anew with every
/// ``boot``. Only the idle and absolute limits fall back to ``wall``.
public struct Moment: Sendable, Hashable {
  /// Differs from boot to boot.
  public var boot: UInt64
  /// The time since boot, sleep included.
  public var uptime: Duration
  /// What the device's clock shows.
  public var wall: UnixTime

  public init(boot: UInt64, uptime: Duration, wall: UnixTime) {
    self.boot = boot
    self.uptime = uptime
    self.wall = wall
  }

  /// The time from `earlier` to this, by the clock that nobody can set. Nothing when the two are of different boots, or
  /// when the clock ran backward (a restored virtual machine).
  public func elapsed(since earlier: Moment) -> Duration? {
    guard boot == earlier.boot, uptime >= earlier.uptime else { return nil }
    return uptime - earlier.uptime
  }

  /// The time from `earlier` to this, by the wall clock where the other clock has no answer. A backward jump counts as
  /// zero. For the limits of a session, where an estimate beats none.
  public func estimatedElapsed(since earlier: Moment) -> Duration {
    elapsed(since: earlier) ?? max(.zero, wall.since(earlier.wall))
  }

  public func advanced(by duration: Duration) -> Moment {
    Moment(boot: boot, uptime: uptime + duration, wall: wall.advanced(by: duration))
  }
}

/// How long something is good, measured from the moment it was asked for: a token cannot have been minted before that, so
/// a slow answer or a sleep in between makes it end early, never late.
public struct Lifetime: Sendable, Hashable {
  /// When the request was sent.
  public var start: Moment
  /// How long it lasts from then: `expires_in` (RFC 6749 section 5.1).
  public var duration: Duration

  public init(start: Moment, duration: Duration) {
    self.start = start
    self.duration = duration
  }

  /// What is left at `now`; zero or less when it is over, and zero when that cannot be known.
  ///
  /// Under another boot it is known where that one was another machine's, as in a home that two of them share: where, by the wall
  /// clock, this machine was running when the request was sent. Their wall clocks may differ by a minute.
  public func remaining(at now: Moment) -> Duration {
    if start.boot == now.boot { return now.elapsed(since: start).map { duration - $0 } ?? .zero }
    let age = now.wall.since(start.wall)
    guard age >= .seconds(-60), age < now.uptime else { return .zero }
    return duration - max(.zero, age)
  }
}
