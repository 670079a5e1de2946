/// A reading of a device's clocks: the wall clock's time, and how long the device has been running.
///
/// Durations are measured by ``uptime``, which counts sleep and which users cannot set; it restarts with every ``boot``. Only
/// the idle and absolute limits fall back to ``wall``.
public struct Moment: Sendable, Hashable {
  /// Identifies the boot.
  public var boot: UInt64
  /// The time since boot, sleep included.
  public var uptime: Duration
  /// The time of the device's wall clock.
  public var wall: UnixTime

  public init(boot: UInt64, uptime: Duration, wall: UnixTime) {
    self.boot = boot
    self.uptime = uptime
    self.wall = wall
  }

  /// Returns the time from `earlier` to this, by ``uptime``; `nil` if the two belong to different boots, or if the clock ran
  /// backward (a restored virtual machine).
  public func elapsed(since earlier: Moment) -> Duration? {
    guard boot == earlier.boot, uptime >= earlier.uptime else { return nil }
    return uptime - earlier.uptime
  }

  /// Returns the time from `earlier` to this, by the wall clock if ``uptime`` gives no answer. A backward jump counts as zero.
  /// For the limits of a session, where an estimate is better than none.
  public func estimatedElapsed(since earlier: Moment) -> Duration {
    elapsed(since: earlier) ?? max(.zero, wall.since(earlier.wall))
  }

  /// Returns the moment later by `duration`, on the same boot.
  public func advanced(by duration: Duration) -> Moment {
    Moment(boot: boot, uptime: uptime + duration, wall: wall.advanced(by: duration))
  }
}

/// The lifetime of a token, measured from the moment it was requested: it cannot have been issued before that, so a slow
/// response or a sleep in between makes it end early, never late.
public struct Lifetime: Sendable, Hashable {
  /// When the request was sent.
  public var start: Moment
  /// The lifetime from then on: `expires_in` (RFC 6749 section 5.1).
  public var duration: Duration

  public init(start: Moment, duration: Duration) {
    self.start = start
    self.duration = duration
  }

  /// Returns the remaining lifetime at `now`; zero or less if expired, and zero if unknown.
  ///
  /// Across boots it is known if the other boot was another machine's, as in a home directory that two machines share: if, by
  /// the wall clock, this machine was running when the request was sent. The machines' wall clocks may differ by a minute.
  public func remaining(at now: Moment) -> Duration {
    if start.boot == now.boot { return now.elapsed(since: start).map { duration - $0 } ?? .zero }
    let age = now.wall.since(start.wall)
    guard age >= .seconds(-60), age < now.uptime else { return .zero }
    return duration - max(.zero, age)
  }
}
