#if Server
import HandstampCore
import HandstampRegistry

/// Tells a clock that runs steadily from one that jumped, by comparing it with a clock that never jumps.
///
/// While the two agree, the wall clock is the time. When it jumps, by more than ``tolerance``, the last agreed time counts,
/// carried on by the other clock, until the wall clock has gone on steadily from where it jumped to for ``patience``. Then it was
/// right: the machine slept, or its clock was corrected. A clock that comes back before then has decided nothing.
struct ClockCheck: Sendable, Hashable {
  /// How far the wall clock may be from where it should be: time servers correct it by little. Well below what the shortest
  /// rules count with, the half minute in which a plain session's refresh may be repeated.
  static let tolerance = Duration.seconds(10)
  static let patience = Duration.seconds(600)

  /// What both clocks show at one instant.
  struct Instant: Sendable, Hashable {
    var wall: UnixTime
    /// Of a clock that only ever goes on; from any beginning.
    var uptime: Duration
  }

  /// What a reading comes to.
  enum Verdict: Sendable, Hashable {
    case agreed
    /// The wall clock is ahead of the time that counts by this, or behind it if it is negative.
    case doubted(by: Duration, isNew: Bool)
    /// The wall clock came back.
    case returned
  }

  /// The end of a doubt: the wall clock was right.
  struct Correction: Sendable, Hashable {
    /// When it was found right.
    var instant: Instant
    /// The time that counted meanwhile, from the beginning of the doubt on.
    var span: ClosedRange<UnixTime>
    /// How far it was behind.
    var distance: Duration

    /// What may have been written down around the end of the span, while times in it were moved; `nil` where it could not be told
    /// from what was moved there.
    var rest: ClosedRange<UnixTime>? {
      guard distance > ClockCheck.patience * 2 || distance < .zero - ClockCheck.patience * 2 else { return nil }
      return span.upperBound.advanced(by: .seconds(-30))...span.upperBound.advanced(by: .seconds(30))
    }
  }

  private struct Doubt: Hashable {
    /// By the time that counts.
    var since: UnixTime
    var distance: Duration
    /// The uptime since when the wall clock goes on steadily.
    var steadySince: Duration
  }

  private var anchor: Instant
  private var doubt: Doubt?

  /// - Parameters:
  ///   - note: what an earlier run has noted last; `nil` for a first one.
  ///   - slack: how much later than the note the last writes of that run may be.
  ///   - trusting: whether the wall clock counts, whatever the note says: an operator has looked at it.
  /// - Returns: also what must be corrected at once, when a doubt of an earlier run is over.
  static func starting(
    at instant: Instant, after note: ClockNote?, slack: Duration, trusting: Bool
  ) -> (check: ClockCheck, correction: Correction?) {
    var check = ClockCheck(anchor: instant)
    guard let note else { return (check, nil) }
    let ahead = instant.wall.since(note.at)
    let isNear = ahead >= .zero - tolerance && ahead <= slack + tolerance
    // What the last run wrote down after its note is not later than this, and must not lie in the span that is moved. A doubt has
    // its beginning noted: there it may, and a server that starts again and again must not make time go faster.
    let last = note.at.advanced(by: note.doubtedSince == nil ? slack : .zero)
    let distance = instant.wall.since(last)
    if isNear || trusting {
      guard let since = note.doubtedSince, !isNear else { return (check, nil) }
      return (check, Correction(instant: instant, span: min(since, last)...last, distance: distance))
    }
    check.anchor = Instant(wall: last, uptime: instant.uptime)
    check.doubt = Doubt(since: note.doubtedSince ?? last, distance: distance, steadySince: instant.uptime)
    return (check, nil)
  }

  private init(anchor: Instant) { self.anchor = anchor }

  /// The time that counts at an instant, and what is new.
  mutating func read(_ instant: Instant) -> (time: UnixTime, verdict: Verdict) {
    let expected = expected(at: instant)
    let distance = instant.wall.since(expected)
    if ClockCheck.isSmall(distance) {
      let wasDoubted = doubt != nil
      doubt = nil
      // Now and then: a clock that is a little fast must not look like one that jumped after years.
      if instant.uptime - anchor.uptime >= ClockCheck.patience { anchor = instant }
      return (instant.wall, wasDoubted ? .returned : .agreed)
    }
    if let doubt, ClockCheck.isSmall(distance - doubt.distance) {
      return (expected, .doubted(by: distance, isNew: false))
    }
    doubt = Doubt(since: doubt?.since ?? expected, distance: distance, steadySince: instant.uptime)
    return (expected, .doubted(by: distance, isNew: true))
  }

  /// What must be corrected in the registry before ``settle(at:)``; `nil` while there is no doubt, or not for long enough.
  func correction(at instant: Instant) -> Correction? {
    guard let doubt, instant.uptime - doubt.steadySince >= ClockCheck.patience else { return nil }
    let expected = expected(at: instant)
    return Correction(
      instant: instant, span: min(doubt.since, expected)...expected, distance: instant.wall.since(expected))
  }

  /// Counts on from a later time, which another server in the same doubt counts by: a session that one of them wrote down must not lie
  /// ahead of the other's time for long.
  mutating func catchUp(with time: UnixTime, at instant: Instant) {
    guard var doubt else { return }
    let lag = time.since(expected(at: instant))
    // What is further away is of another doubt.
    guard lag > .zero, lag <= .seconds(300) else { return }
    doubt.distance -= lag
    self.doubt = doubt
    anchor = Instant(wall: time, uptime: instant.uptime)
  }

  /// Whether the wall clock is doubted.
  var isDoubted: Bool { doubt != nil }

  /// Lets the wall clock count, as it was at `instant`.
  mutating func settle(at instant: Instant) { self = ClockCheck(anchor: instant) }

  /// The same because another server found it right, if there is a doubt. Returns what may still have to be corrected.
  mutating func adopt(at instant: Instant) -> Correction? {
    guard let doubt else { return nil }
    let expected = expected(at: instant)
    settle(at: instant)
    return Correction(
      instant: instant, span: min(doubt.since, expected)...expected, distance: instant.wall.since(expected))
  }

  /// What to note for the next start.
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
