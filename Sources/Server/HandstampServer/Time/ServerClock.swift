#if Server
package import HandstampCore
import HandstampRegistry
import HandstampSupport
import Logging

/// The server time, see ``ClockCheck``.
final class ServerClock: Sendable {
  private struct State: Sendable {
    var check: ClockCheck
    /// The revision of the last note that was read or written.
    var seen: Int64?
    /// A shift to make again: while it was made, requests in flight still used the previous time.
    var rest: TimeShift?

    mutating func settle(by shift: TimeShift) {
      check.settle(by: shift)
      if shift.isRepeatable { rest = shift }
    }
  }

  /// For its clocks and its logger, which no reload replaces.
  private let configuration: ServerConfiguration
  private let state: Locked<State>

  /// - Parameter note: the last note of an earlier run, or of another server on the store.
  init(after note: ClockNote?, _ configuration: ServerConfiguration) {
    self.configuration = configuration
    let check = ClockCheck(at: configuration.instant, after: note)
    state = Locked(State(check: check, seen: note?.revision))
    if let doubt = check.doubt {
      logDoubt("The clock differs from the last run; ignoring it until it has run steadily for 10 minutes", doubt)
    }
  }

  /// Returns the current time. Logs when the clock has jumped or returned.
  func read() -> Reading { judge(configuration.instant) }

  /// The server time, for checking expiry and for stored times.
  var now: UnixTime { read().now }

  private func judge(_ instant: ClockCheck.Instant) -> Reading {
    let (previous, now, doubt) = state.withLock { state in
      let previous = state.check.doubt
      let now = state.check.read(instant)
      return (previous, now, state.check.doubt)
    }
    if let doubt, doubt != previous {
      logDoubt("The clock jumped; ignoring it until it has run steadily for 10 minutes", doubt)
    } else if doubt == nil, previous != nil {
      configuration.logger.notice("The clock is back at the expected time")
    }
    return Reading(now: now, wall: instant.wall, margin: doubt?.margin ?? .zero)
  }

  /// Applies the store's note if it is a new one of another server. Returns whether that server has confirmed the clock.
  func follow(_ note: ClockNote?) -> Bool {
    let instant = configuration.instant
    _ = judge(instant)
    let isSettled = state.withLock { state in
      guard let note, note.revision != state.seen else { return false }
      state.seen = note.revision
      guard let shift = state.check.follow(note, at: instant) else { return false }
      state.settle(by: shift)
      return true
    }
    if isSettled { configuration.logger.notice("Another server has confirmed the clock; using it again") }
    return isSettled
  }

  /// Returns the next note, and the shift to make in the same write.
  func next(after previous: ClockNote?) -> (note: ClockNote, shift: TimeShift?) {
    let instant = configuration.instant
    _ = judge(instant)
    return state.withLock { $0.check.note(at: instant, after: previous) }
  }

  /// Records that the note and the shift are now in the store.
  func noted(_ note: ClockNote, _ shift: TimeShift?) {
    state.withLock { state in
      state.seen = note.revision
      if let shift { state.settle(by: shift) }
    }
    if shift != nil { configuration.logger.notice("The clock has run steadily since it jumped; using it again") }
  }

  /// The shift to make again.
  var rest: TimeShift? { state.withLock { $0.rest } }
  func restIsMoved() { state.withLock { $0.rest = nil } }

  private func logDoubt(_ message: Logger.Message, _ doubt: ClockCheck.Doubt) {
    configuration.logger.warning(
      message,
      metadata: [
        "handstamp.seconds": "\(doubt.distance.components.seconds)",
        "handstamp.hint": "correct the clock if it is wrong; otherwise wait",
      ])
  }
}

extension ServerConfiguration {
  /// Reads both clocks, again if the thread was paused in between for too long.
  fileprivate var instant: ClockCheck.Instant {
    var before = uptime()
    while true {
      let instant = ClockCheck.Instant(wall: now(), uptime: before, boot: boot)
      let after = uptime()
      if after - before < .seconds(1) { return instant }
      before = after
    }
  }
}

extension SessionServer {
  /// The server time, for checking expiry and for stored times.
  package func now() -> UnixTime { clock.read().now }

  /// Applies the clock note of other servers on the store. Returns whether the wall clock is in use again.
  @discardableResult
  func followClock() async throws(RegistryError) -> Bool {
    try await follow(try await registry.clockNote())
  }

  private func follow(_ note: ClockNote?) async throws(RegistryError) -> Bool {
    if let rest = clock.rest {
      try await registry.moveTimes(rest)
      clock.restIsMoved()
    }
    guard clock.follow(note) else { return false }
    if let rest = clock.rest { try await registry.moveTimes(rest) }
    return true
  }

  /// Writes the clock note, and ends a doubt once the clock has run steadily. Returns whether the wall clock is in use again.
  func checkClock() async throws(RegistryError) -> Bool {
    // Another server may write a note at the same time; then read again.
    for _ in 0..<Registry.attempts {
      let previous = try await registry.clockNote()
      if try await follow(previous) { return true }
      let (note, shift) = clock.next(after: previous)
      guard try await registry.note(note, moving: shift) else { continue }
      clock.noted(note, shift)
      return shift != nil
    }
    throw Registry.contention
  }
}
#endif
