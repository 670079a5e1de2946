#if Server
import HandstampCore
import HandstampRegistry

/// Detects jumps of the wall clock by comparing it with a monotonic clock.
///
/// While the two agree, the server time is the wall clock. When the wall clock jumps by more than ``tolerance``, the server
/// time continues from the last agreed time by the monotonic clock, until the wall clock has run steadily for ``patience``
/// since the jump. Then the wall clock was right: the machine slept, or its clock was corrected. A clock that returns before
/// then has had no effect.
struct ClockCheck: Sendable, Hashable {
  /// How far the wall clock may be off: time servers correct it in small steps. Well below the shortest time that a rule
  /// depends on, the 30 s in which a plain session's refresh may be repeated.
  static let tolerance = Duration.seconds(10)
  static let patience = Duration.seconds(600)

  /// A reading of both clocks.
  struct Instant: Sendable, Hashable {
    var wall: UnixTime
    /// A monotonic clock, with an arbitrary start.
    var uptime: Duration
  }

  /// The result of a reading.
  enum Verdict: Sendable, Hashable {
    case agreed
    /// The wall clock is ahead of the server time by this duration, or behind if it is negative.
    case doubted(by: Duration, isNew: Bool)
    /// The wall clock has returned to the server time.
    case returned
  }

  /// The correction of stored times after a doubt: the wall clock was right.
  struct Correction: Sendable, Hashable {
    /// When the wall clock was confirmed.
    var instant: Instant
    /// The server time during the doubt, from its start.
    var span: ClosedRange<UnixTime>
    /// How far the server time was behind.
    var distance: Duration

    /// Times that may have been written around the end of the span while its times were being moved; `nil` if they cannot be
    /// distinguished from moved times.
    var rest: ClosedRange<UnixTime>? {
      guard distance > ClockCheck.patience * 2 || distance < .zero - ClockCheck.patience * 2 else { return nil }
      return span.upperBound.advanced(by: .seconds(-30))...span.upperBound.advanced(by: .seconds(30))
    }
  }

  private struct Doubt: Hashable {
    /// In server time.
    var since: UnixTime
    var distance: Duration
    /// The uptime since which the wall clock has run steadily.
    var steadySince: Duration
  }

  private var anchor: Instant
  private var doubt: Doubt?

  /// - Parameters:
  ///   - note: the last note of an earlier run; `nil` on the first start.
  ///   - slack: how much later than the note the last writes of that run may be.
  init(at instant: Instant, after note: ClockNote?, slack: Duration) {
    anchor = instant
    guard let note else { return }
    let ahead = instant.wall.since(note.at)
    guard ahead < .zero - ClockCheck.tolerance || ahead > slack + ClockCheck.tolerance else { return }
    // The last run wrote no times later than this after its note, and those must not lie in the span that is moved. The start
    // of a doubt is noted, so there they may; and repeated restarts must not make time run faster.
    let last = note.at.advanced(by: note.doubtedSince == nil ? slack : .zero)
    anchor.wall = last
    doubt = Doubt(
      since: note.doubtedSince ?? last, distance: instant.wall.since(last), steadySince: instant.uptime)
  }

  /// Returns the server time at an instant, and the result of comparing the clocks.
  mutating func read(_ instant: Instant) -> (time: UnixTime, verdict: Verdict) {
    let expected = expected(at: instant)
    let distance = instant.wall.since(expected)
    if ClockCheck.isSmall(distance) {
      let wasDoubted = doubt != nil
      doubt = nil
      // Move the anchor occasionally, so that slow drift over years does not look like a jump.
      if instant.uptime - anchor.uptime >= ClockCheck.patience { anchor = instant }
      return (instant.wall, wasDoubted ? .returned : .agreed)
    }
    if let doubt, ClockCheck.isSmall(distance - doubt.distance) {
      return (expected, .doubted(by: distance, isNew: false))
    }
    doubt = Doubt(since: doubt?.since ?? expected, distance: distance, steadySince: instant.uptime)
    return (expected, .doubted(by: distance, isNew: true))
  }

  /// Returns the correction to make in the registry before ``settle(at:)``, or `nil` if there is no doubt or it is too recent.
  func correction(at instant: Instant) -> Correction? {
    guard let doubt, instant.uptime - doubt.steadySince >= ClockCheck.patience else { return nil }
    let expected = expected(at: instant)
    return Correction(
      instant: instant, span: min(doubt.since, expected)...expected, distance: instant.wall.since(expected))
  }

  /// Advances to the later server time of another server in the same doubt, so that a session written by one server does not
  /// stay ahead of the other's time for long.
  mutating func catchUp(with time: UnixTime, at instant: Instant) {
    guard var doubt else { return }
    let lag = time.since(expected(at: instant))
    // A larger difference belongs to another doubt.
    guard lag > .zero, lag <= .seconds(300) else { return }
    doubt.distance -= lag
    self.doubt = doubt
    anchor = Instant(wall: time, uptime: instant.uptime)
  }

  /// Whether the wall clock is doubted.
  var isDoubted: Bool { doubt != nil }

  /// Ends the doubt and uses the wall clock as it was at `instant`.
  mutating func settle(at instant: Instant) { (anchor, doubt) = (instant, nil) }

  /// Ends the doubt, if any, because another server has confirmed the clock. Returns the correction that may still be needed.
  mutating func adopt(at instant: Instant) -> Correction? {
    guard let doubt else { return nil }
    let expected = expected(at: instant)
    settle(at: instant)
    return Correction(
      instant: instant, span: min(doubt.since, expected)...expected, distance: instant.wall.since(expected))
  }

  /// Returns the note for the next start.
  func note(at instant: Instant) -> ClockNote {
    guard let doubt else { return ClockNote(at: instant.wall) }
    return ClockNote(at: expected(at: instant), doubtedSince: doubt.since)
  }

  private func expected(at instant: Instant) -> UnixTime {
    anchor.wall.advanced(by: max(.zero, instant.uptime - anchor.uptime))
  }

  private static func isSmall(_ distance: Duration) -> Bool {
    distance <= tolerance && distance >= .zero - tolerance
  }
}
#endif
