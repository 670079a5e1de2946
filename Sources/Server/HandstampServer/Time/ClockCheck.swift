#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// Detects jumps of the wall clock by comparing it with a monotonic clock, and with the other servers on the store.
///
/// While the two agree, the server time is the wall clock. When the wall clock jumps by more than ``tolerance``, the server
/// time continues from the last agreed time by the monotonic clock, until the wall clock has run steadily for ``patience``
/// since the jump, or another server has the same time. Then the wall clock was right: the machine slept, or its clock was
/// corrected. A clock that returns before then has had no effect, and one that another server contradicts is never used.
struct ClockCheck: Sendable, Hashable {
  /// How far the wall clock may be off: time servers correct it in small steps. Well below the shortest time that a rule
  /// depends on, the 30 s in which a plain session's refresh may be repeated.
  static let tolerance = Duration.seconds(10)
  static let patience = Duration.seconds(600)
  /// The maximum age of a server's note while that server runs, and how much later than its last note its last writes may be.
  static let slack = Sweeper.interval * 2
  /// The longest time during which a machine was plainly off: a night, a weekend, a week of holidays. Half of the shortest
  /// limit by which a session ends by default, so that a wrong clock ends none that was used in the week before.
  static let longestPause = Duration.seconds(7 * 86_400)

  /// A reading of both clocks.
  struct Instant: Sendable, Hashable {
    var wall: UnixTime
    /// A monotonic clock, which counts from the boot if that is known.
    var uptime: Duration
    /// The machine's boot; zero if it is not known.
    var boot: UInt64 = 0
  }

  /// A wall clock that differs from the server time.
  struct Doubt: Sendable, Hashable {
    /// In server time.
    var since: UnixTime
    /// How far the wall clock is ahead of the server time, or behind if it is negative.
    var distance: Duration
    /// The uptime since which the wall clock has run steadily, and no other server has contradicted it.
    var steadySince: Duration
    /// How much earlier than the server time the true time may be, if the wall clock is wrong.
    var margin = Duration.zero
  }

  private var anchor: Instant
  private(set) var doubt: Doubt?

  /// - Parameter note: the last note of an earlier run, or of another server; `nil` on the first start.
  init(at instant: Instant, after note: ClockNote?) {
    anchor = instant
    guard let note else { return }
    let (last, margin): (UnixTime, Duration)
    if let pause = ClockCheck.pause(after: note, at: instant) {
      (last, margin) = (note.at.advanced(by: pause), .zero)
      guard !ClockCheck.isSmall(instant.wall.since(last)) else { return }
    } else {
      let ahead = instant.wall.since(note.at)
      // With a mark, this machine was the last to write a note, and has started again since: it was off. What was stored during
      // a doubt has to be moved.
      let longest = note.boot != nil && note.doubtedSince == nil ? ClockCheck.longestPause : ClockCheck.slack
      guard ahead < .zero - ClockCheck.tolerance || ahead > longest + ClockCheck.tolerance else { return }
      // The last run wrote no times later than this after its note, and those must not lie in the span that is moved. The start
      // of a doubt is noted, so there they may; and repeated restarts must not make time run faster.
      margin = note.doubtedSince == nil ? ClockCheck.slack : .zero
      last = note.at.advanced(by: margin)
    }
    anchor.wall = last
    doubt = Doubt(
      since: note.doubtedSince ?? last, distance: instant.wall.since(last), steadySince: instant.uptime, margin: margin)
  }

  /// How long no server ran on this machine, by the boot clock; `nil` if it was started since, or another machine wrote the
  /// note.
  private static func pause(after note: ClockNote, at instant: Instant) -> Duration? {
    guard let mark = note.boot, mark.id == instant.boot, mark.uptime <= instant.uptime else { return nil }
    return instant.uptime - mark.uptime
  }

  /// Returns the server time at an instant.
  mutating func read(_ instant: Instant) -> UnixTime {
    let expected = expected(at: instant)
    let distance = instant.wall.since(expected)
    if ClockCheck.isSmall(distance) {
      doubt = nil
      // Move the anchor occasionally, so that slow drift over years does not look like a jump.
      if instant.uptime - anchor.uptime >= ClockCheck.patience { anchor = instant }
      return instant.wall
    }
    if doubt.map({ !ClockCheck.isSmall(distance - $0.distance) }) ?? true {
      doubt = Doubt(
        since: doubt?.since ?? expected, distance: distance, steadySince: instant.uptime,
        margin: doubt?.margin ?? .zero)
    }
    return expected
  }

  /// Returns the note after `previous`; with a shift if the wall clock is right, to be made in the same write and then by
  /// ``settle(by:)``.
  func note(at instant: Instant, after previous: ClockNote?) -> (note: ClockNote, shift: TimeShift?) {
    var note = ClockNote(at: instant.wall, revision: ClockNote.revision(after: previous))
    note.boot = instant.boot == 0 ? nil : BootMark(id: instant.boot, uptime: instant.uptime)
    guard let doubt else { return (note, nil) }
    if instant.uptime - doubt.steadySince >= ClockCheck.patience { return (note, shift(after: doubt, at: instant)) }
    note.at = expected(at: instant)
    note.doubtedSince = doubt.since
    return (note, nil)
  }

  /// Compares with a new note of another server. Returns the shift to ``settle(by:)`` with if the wall clock has its time.
  mutating func follow(_ note: ClockNote, at instant: Instant) -> TimeShift? {
    guard let doubt else { return nil }
    let (lag, ahead) = (note.at.since(expected(at: instant)), instant.wall.since(note.at))
    if note.doubtedSince == nil {
      if ahead >= .zero - ClockCheck.tolerance, ahead <= ClockCheck.slack, abs(ahead.inSeconds) < abs(lag.inSeconds) {
        return shift(after: doubt, at: instant)
      }
      self.doubt?.steadySince = instant.uptime
    }
    // The other's time is the better one; of two in doubt, the later one, so that a session written by one server does not stay
    // ahead of the other's time for long. A larger difference belongs to another doubt.
    guard !ClockCheck.isSmall(lag), abs(lag.inSeconds) <= 300, note.doubtedSince == nil || lag > .zero else {
      return nil
    }
    anchor = Instant(wall: note.at, uptime: instant.uptime)
    self.doubt?.distance = ahead
    self.doubt?.margin = .zero
    return nil
  }

  /// Ends the doubt, if any, and uses the wall clock as it was at the time of the shift: a jump since then is another doubt.
  mutating func settle(by shift: TimeShift) {
    guard doubt != nil else { return }
    anchor.wall = anchor.wall.advanced(by: shift.distance)
    doubt = nil
  }

  /// The shift of the times that were stored during a doubt, by requests in flight also a moment later.
  private func shift(after doubt: Doubt, at instant: Instant) -> TimeShift {
    let expected = expected(at: instant)
    return TimeShift(
      span: min(doubt.since, expected)...expected.advanced(by: .seconds(30)), distance: instant.wall.since(expected))
  }

  private func expected(at instant: Instant) -> UnixTime {
    anchor.wall.advanced(by: max(.zero, instant.uptime - anchor.uptime))
  }

  private static func isSmall(_ distance: Duration) -> Bool {
    distance <= tolerance && distance >= .zero - tolerance
  }
}

extension TimeShift {
  /// Whether moved times lie outside the span, so that the shift can be made again.
  var isRepeatable: Bool { abs(distance.inSeconds) > span.upperBound.since(span.lowerBound).inSeconds }
}
#endif
