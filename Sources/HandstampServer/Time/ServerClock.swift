#if Server
package import HandstampCore
import HandstampRegistry
import HandstampSupport
import Logging

/// The server time, see ``ClockCheck``.
final class ServerClock: Sendable {
  /// A reading of the clock.
  struct Reading: Sendable, Hashable {
    /// The server time, for checking expiry and for stored times.
    var now: UnixTime
    /// The machine's clock; equal to ``now`` unless it is doubted.
    var wall: UnixTime

    /// The time for checking tokens of another issuer, whose clock may agree with either. A wall clock that is far behind is
    /// ignored: it would accept tokens that expired long ago.
    var forOthers: UnixTime { now.since(wall) <= .seconds(86_400) ? min(now, wall) : now }

    /// The issue time of access tokens. Other machines check those by their own clocks: if the server was down for a night, the
    /// wall clock is probably right. One that is more than a week ahead is ignored: its tokens would last that much longer.
    var forTokens: UnixTime {
      wall > now && wall.since(now) <= .seconds(7 * 86_400) ? wall : now
    }
  }

  /// The maximum age of another server's note when it is read.
  private static let longestSweep = Duration.seconds(120)

  private struct State: Sendable {
    var check: ClockCheck
    /// Whether the store's note has shown the current doubt. A later note without a doubt means that another server has
    /// confirmed the clock.
    var isDoubtNoted = false
    /// The correction still to be made after a doubt.
    var rest: ClockCheck.Correction?
  }

  private let wall: @Sendable () -> UnixTime
  private let uptime: @Sendable () -> Duration
  private let logger: Logger
  private let state: Locked<State>

  /// - Parameter note: the last note of an earlier run, or of another server on the store.
  init(after note: ClockNote?, _ configuration: ServerConfiguration) {
    wall = configuration.now
    uptime = configuration.uptime
    logger = configuration.logger
    let instant = ServerClock.instant(wall, uptime)
    var check = ClockCheck(at: instant, after: note, slack: Sweeper.interval * 2)
    let verdict = check.read(instant).verdict
    state = Locked(State(check: check, isDoubtNoted: note?.doubtedSince != nil))
    if case .doubted(let distance, _) = verdict {
      logDoubt(
        "The clock differs from the last run; ignoring it until it has run steadily for 10 minutes", by: distance)
    }
  }

  /// Reads both clocks, again if the thread was paused in between for too long.
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

  /// Returns the current time. Logs when the clock has jumped or returned.
  func read() -> Reading { judge(instant) }

  /// The server time, for checking expiry and for stored times.
  var now: UnixTime { read().now }

  private func judge(_ instant: ClockCheck.Instant) -> Reading {
    let (now, verdict) = state.withLock { $0.check.read(instant) }
    switch verdict {
    case .agreed, .doubted(_, isNew: false): break
    case .doubted(let distance, isNew: true):
      logDoubt("The clock jumped; ignoring it until it has run steadily for 10 minutes", by: distance)
    case .returned:
      state.withLock { $0.isDoubtNoted = false }
      logger.notice("The clock is back at the expected time")
    }
    return Reading(now: now, wall: instant.wall)
  }

  /// Applies the store's note. Returns whether another server on the store has confirmed the clock.
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
      // The confirmed time must match this server's clock, which may have jumped again, or belong to another machine.
      let age = instant.wall.since(note.at)
      let isThisClock = age >= .zero - ClockCheck.tolerance && age <= ServerClock.longestSweep
      guard isThisClock, state.isDoubtNoted, let correction = state.check.adopt(at: instant) else { return false }
      (state.isDoubtNoted, state.rest) = (false, correction)
      return true
    }
    if isSettled { logger.notice("Another server has confirmed the clock; using it again") }
    return isSettled
  }

  /// Returns the next note, and the correction to make in the same write. A confirmed clock is noted only after its doubt was.
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

  /// Records that the note and the correction are now in the store.
  func noted(_ note: ClockNote, _ correction: ClockCheck.Correction?) {
    state.withLock { state in
      state.isDoubtNoted = note.doubtedSince != nil
      guard let correction else { return }
      // The clock as it was then: a jump since then is another doubt.
      state.check.settle(at: correction.instant)
      state.rest = correction
    }
    if correction != nil { logger.notice("The clock has run steadily since it jumped; using it again") }
  }

  /// The correction still to be made after a doubt.
  var rest: ClockCheck.Correction? { state.withLock { $0.rest } }
  func restIsCorrected() { state.withLock { $0.rest = nil } }

  private func logDoubt(_ message: Logger.Message, by distance: Duration) {
    logger.warning(
      message,
      metadata: [
        "handstamp.seconds": "\(distance.components.seconds)",
        "handstamp.hint": "correct the clock if it is wrong; otherwise wait",
      ])
  }
}

extension SessionServer {
  /// The server time, for checking expiry and for stored times.
  package func now() -> UnixTime { clock.read().now }

  /// Applies the clock note of other servers on the store. Returns whether the wall clock is in use again.
  @discardableResult
  func followClock() async throws(RegistryError) -> Bool {
    let isSettled = clock.follow(try await registry.clockNote())
    try await correctRest()
    return isSettled
  }

  /// Writes the clock note, and ends a doubt once the clock has run steadily. Returns whether the wall clock is in use again.
  func checkClock() async throws(RegistryError) -> Bool {
    _ = clock.read()
    // Another server may write a note at the same time; then read again.
    for _ in 0..<Registry.attempts {
      let former = try await registry.clockNote()
      if clock.follow(former) {
        try await correctRest()
        return true
      }
      var (note, correction) = clock.next()
      note.revision = ClockNote.revision(after: former)
      let shift = correction.map { TimeShift(span: $0.span, distance: $0.distance) }
      guard try await registry.note(note, moving: shift) else { continue }
      clock.noted(note, correction)
      try await correctRest()
      return correction != nil
    }
    throw Registry.contention
  }

  /// Corrects times that were written while the others were being moved.
  private func correctRest() async throws(RegistryError) {
    guard let correction = clock.rest else { return }
    if let span = correction.rest { try await registry.moveTimes(TimeShift(span: span, distance: correction.distance)) }
    clock.restIsCorrected()
  }
}
#endif
