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

    /// By which the tokens of another issuer are judged, whose clock may agree with either; a wall clock that is far behind would
    /// let in what expired long ago.
    var forOthers: UnixTime { now.since(wall) <= .seconds(86_400) ? min(now, wall) : now }

    /// What access tokens are dated by. Other machines judge those by clocks of their own: after a night without the server, the
    /// wall clock is probably right. One that is ahead by more than a week would make tokens that last for so long.
    var forTokens: UnixTime {
      wall > now && wall.since(now) <= .seconds(7 * 86_400) ? wall : now
    }
  }

  /// How old another server's note may be when it is looked at.
  private static let longestSweep = Duration.seconds(120)

  private struct State: Sendable {
    var check: ClockCheck
    /// Whether the store's note has shown the present doubt: one that shows none after that tells that another server has found
    /// the clock right.
    var isDoubtNoted = false
    /// What is still to be corrected after a doubt.
    var rest: ClockCheck.Correction?
  }

  private let wall: @Sendable () -> UnixTime
  private let uptime: @Sendable () -> Duration
  private let logger: Logger
  private let state: Locked<State>

  /// - Parameter note: what an earlier run, or another server on the store, has noted last.
  /// - Returns: also what must be corrected before anything else.
  static func starting(
    after note: ClockNote?, _ configuration: ServerConfiguration
  ) -> (clock: ServerClock, correction: ClockCheck.Correction?) {
    let instant = ServerClock.instant(configuration.now, configuration.uptime)
    var (check, correction) = ClockCheck.starting(
      at: instant, after: note, slack: max(.seconds(120), configuration.sweepInterval * 2),
      trusting: configuration.trustsClock)
    let verdict = check.read(instant).verdict
    let clock = ServerClock(State(check: check, isDoubtNoted: note?.doubtedSince != nil), configuration)
    if case .doubted(let distance, _) = verdict {
      clock.logDoubt("The clock is not where the last run left it: it decides nothing for 10 minutes", by: distance)
    }
    return (clock, correction)
  }

  private init(_ state: State, _ configuration: ServerConfiguration) {
    self.state = Locked(state)
    wall = configuration.now
    uptime = configuration.uptime
    logger = configuration.logger
  }

  /// What both clocks show, read close enough to each other: a thread may be paused between the two.
  private static func instant(
    _ wall: @Sendable () -> UnixTime, _ uptime: @Sendable () -> Duration
  ) -> ClockCheck.Instant {
    var before = uptime()
    while true {
      let instant = ClockCheck.Instant(wall: wall(), uptime: before)
      let after = uptime()
      if after - before < .seconds(1) { return instant }
      before = after
    }
  }

  private var instant: ClockCheck.Instant { ServerClock.instant(wall, uptime) }

  /// What time it is. Logs when the clock has jumped, or came back.
  func read() -> Reading { judge(instant) }

  private func judge(_ instant: ClockCheck.Instant) -> Reading {
    let (now, verdict) = state.withLock { $0.check.read(instant) }
    switch verdict {
    case .agreed, .doubted(_, isNew: false): break
    case .doubted(let distance, isNew: true):
      logDoubt("The clock jumped, and decides nothing until it has run steadily for 10 minutes", by: distance)
    case .returned:
      state.withLock { $0.isDoubtNoted = false }
      logger.notice("The clock is back where it should be")
    }
    return Reading(now: now, wall: instant.wall)
  }

  /// Takes in what the store's note says. Returns whether another server on the store has found the clock right.
  func follow(_ note: ClockNote?) -> Bool {
    let instant = instant
    _ = judge(instant)
    let isSettled = state.withLock { state in
      guard state.check.isDoubted, let note else { return false }
      guard note.doubtedSince == nil else {
        state.isDoubtNoted = true
        state.check.catchUp(with: note.at, at: instant)
        return false
      }
      // What it found right must be what this server's clock shows: that may have jumped once more, or be another machine's.
      let age = instant.wall.since(note.at)
      let isThisClock = age >= .zero - ClockCheck.tolerance && age <= ServerClock.longestSweep
      guard isThisClock, state.isDoubtNoted, let correction = state.check.adopt(at: instant) else { return false }
      (state.isDoubtNoted, state.rest) = (false, correction)
      return true
    }
    if isSettled { logger.notice("Another server has found the clock right: it counts again") }
    return isSettled
  }

  /// What to note, and what to correct in the same write: that the clock has proven right is noted once it was noted that it is
  /// doubted.
  func next() -> (note: ClockNote, correction: ClockCheck.Correction?) {
    let instant = instant
    _ = judge(instant)
    return state.withLock { state in
      guard state.isDoubtNoted, let correction = state.check.correction(at: instant) else {
        return (state.check.note(at: instant), nil)
      }
      return (ClockNote(at: instant.wall), correction)
    }
  }

  /// What was noted is now in the store.
  func noted(_ note: ClockNote, _ correction: ClockCheck.Correction?) {
    state.withLock { state in
      state.isDoubtNoted = note.doubtedSince != nil
      guard let correction else { return }
      // As it was then: if it has jumped since, that is another doubt.
      state.check.settle(at: correction.instant)
      state.rest = correction
    }
    if correction != nil { logger.notice("The clock has run steadily since it jumped, and counts again") }
  }

  /// What is still to be corrected after a doubt, and that it was.
  var rest: ClockCheck.Correction? { state.withLock { $0.rest } }
  func restIsCorrected() { state.withLock { $0.rest = nil } }

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

  /// Hears of what other servers on the store have found out about the clock. Returns whether it counts again.
  @discardableResult
  func followClock() async throws(RegistryError) -> Bool {
    let isSettled = clock.follow(try await registry.clockNote())
    try await correctRest()
    return isSettled
  }

  /// Notes what time it is, and lets a clock that jumped count when it has proven right. Returns whether it counts again.
  func checkClock() async throws(RegistryError) -> Bool {
    _ = clock.read()
    // Another server may note something at the same time; then it is looked at anew.
    for _ in 0..<Registry.attempts {
      let former = try await registry.clockNote()
      if clock.follow(former) {
        try await correctRest()
        return true
      }
      let (note, correction) = clock.next()
      guard
        try await registry.note(note, after: former, moving: correction?.span, by: correction?.distance ?? .zero)
      else { continue }
      clock.noted(note, correction)
      try await correctRest()
      return correction != nil
    }
    throw Registry.contention
  }

  /// What was written down while the first times were moved.
  private func correctRest() async throws(RegistryError) {
    guard let correction = clock.rest else { return }
    if let span = correction.rest { try await registry.moveTimes(span, by: correction.distance) }
    clock.restIsCorrected()
  }
}
#endif
