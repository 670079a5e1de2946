#if Server
import HandstampCore
import HandstampRegistry
import Logging

/// The time as the server judges by it, see ``ClockCheck``.
final class ServerClock: Sendable {
  /// What time it is.
  struct Reading: Sendable, Hashable {
    /// What ages are judged by, and what is written down.
    var now: UnixTime
    /// What the machine's clock shows; the same while it is not doubted.
    var wall: UnixTime

    /// The one by which a token of others, whose clock is another, is good for longer.
    var earlier: UnixTime { min(now, wall) }

    /// What access tokens are dated by. Other machines judge those by clocks of their own: after a night without the server, the
    /// wall clock is probably right. One that is ahead by more than a day would make tokens that last for so long.
    var forTokens: UnixTime {
      wall > now && wall.since(now) <= .seconds(86_400) ? wall : now
    }
  }

  private let wall: @Sendable () -> UnixTime
  private let uptime: @Sendable () -> Duration
  private let logger: Logger
  private let check: Locked<ClockCheck>

  /// - Parameter note: what an earlier run has noted last.
  /// - Returns: also what must be corrected before anything else.
  static func starting(
    after note: ClockNote?, _ configuration: ServerConfiguration
  ) -> (clock: ServerClock, correction: ClockCheck.Correction?) {
    let instant = ClockCheck.Instant(wall: configuration.now(), uptime: configuration.uptime())
    let (check, correction) = ClockCheck.starting(at: instant, after: note, trusting: configuration.trustsClock)
    let clock = ServerClock(check, configuration)
    if let distance = clock.doubt(at: instant) {
      clock.logDoubt("The clock is not where the last run left it: it decides nothing for 10 minutes", by: distance)
    }
    return (clock, correction)
  }

  private init(_ check: ClockCheck, _ configuration: ServerConfiguration) {
    self.check = Locked(check)
    wall = configuration.now
    uptime = configuration.uptime
    logger = configuration.logger
  }

  private var instant: ClockCheck.Instant { ClockCheck.Instant(wall: wall(), uptime: uptime()) }

  /// What time it is. Logs when the clock has jumped, or came back.
  func read() -> Reading {
    let instant = instant
    let (now, verdict) = check.withLock { $0.read(instant) }
    switch verdict {
    case .agreed, .doubted(_, isNew: false): break
    case .doubted(let distance, isNew: true):
      logDoubt("The clock jumped, and decides nothing until it has gone on steadily for 10 minutes", by: distance)
    case .returned: logger.notice("The clock is back where it should be")
    }
    return Reading(now: now, wall: instant.wall)
  }

  /// What to note for the next start.
  var note: ClockNote {
    let instant = instant
    return check.withLock { $0.note(at: instant) }
  }

  /// What must be corrected, once the clock has gone on steadily for long enough after a jump.
  var correction: ClockCheck.Correction? {
    let instant = instant
    return check.withLock { $0.correction(at: instant) }
  }

  /// From now on the machine's clock counts again.
  func settle() {
    let instant = instant
    check.withLock { $0.settle(at: instant) }
    logger.notice("The clock has gone on steadily since it jumped, and counts again")
  }

  private func doubt(at instant: ClockCheck.Instant) -> Duration? {
    guard case .doubted(let distance, _) = check.withLock({ $0.read(instant) }).verdict else { return nil }
    return distance
  }

  private func logDoubt(_ message: Logger.Message, by distance: Duration) {
    logger.warning(
      message,
      metadata: [
        "handstamp.seconds": "\(distance.components.seconds)",
        "handstamp.hint": "if it is right now, it counts at once after a restart with --trust-clock",
      ])
  }
}

extension SessionServer {
  /// What ages are judged by, and what is written down.
  func now() -> UnixTime { clock.read().now }

  /// Notes what time it is, and lets a clock that jumped count when it has proven right.
  func checkClock() async throws(RegistryError) {
    _ = clock.read()
    if let correction = clock.correction { try await settle(correction) }
    try await registry.note(clock.note)
  }

  private func settle(_ correction: ClockCheck.Correction) async throws(RegistryError) {
    try await registry.moveTimes(correction.span, by: correction.distance)
    clock.settle()
    // What was written down while the first were moved.
    let rest = correction.span.upperBound.advanced(by: .milliseconds(1))
    try await registry.moveTimes(rest...rest.advanced(by: ClockCheck.tolerance / 2), by: correction.distance)
  }
}
#endif
