#if Programs
import HandstampCore
import HandstampRegistry
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A clock check` {
  typealias Instant = ClockCheck.Instant
  let start = UnixTime(seconds: 1_800_000_000)
  let day = Duration.seconds(86_400)

  /// Both clocks after that many seconds, with the wall clock set ahead.
  func instant(_ seconds: Int64, ahead: Duration = .zero) -> Instant {
    Instant(wall: start.advanced(by: .seconds(seconds) + ahead), uptime: .seconds(5 + seconds))
  }

  func fresh(_ note: ClockNote? = nil, at first: Instant? = nil) -> ClockCheck {
    ClockCheck(at: first ?? instant(0), after: note)
  }

  @Test(arguments: [-10, -1, 0, 1, 10]) func `follows a clock that stays close`(seconds: Int64) {
    var check = fresh()
    let near = instant(30, ahead: .seconds(seconds))
    #expect(check.read(near) == near.wall)
    #expect(check.doubt == nil)
    let (note, shift) = check.note(at: near, after: nil)
    #expect(note == ClockNote(at: near.wall))
    #expect(shift == nil)
  }

  @Test(arguments: [-100 * 86_400, -11, 11, 7200, 100 * 86_400]) func `does not follow a clock that jumps`(
    seconds: Int64
  ) {
    var check = fresh()
    let jumped = Duration.seconds(seconds)
    for second in [Int64(10), 599] {
      #expect(check.read(instant(second, ahead: jumped)) == instant(second).wall)
      #expect(check.doubt == ClockCheck.Doubt(since: instant(10).wall, distance: jumped, steadySince: .seconds(15)))
    }
    #expect(check.note(at: instant(609, ahead: jumped), after: nil).shift == nil)
    #expect(check.read(instant(60)) == instant(60).wall)
    #expect(check.doubt == nil)
    #expect(check.note(at: instant(10_000), after: nil).shift == nil)
  }

  @Test func `trusts a clock again after ten steady minutes`() throws {
    var check = fresh()
    _ = check.read(instant(10, ahead: day * 2))
    let later = instant(610, ahead: day * 2)
    let (note, found) = check.note(at: later, after: ClockNote(at: start, doubtedSince: start, revision: 7))
    let shift = try #require(found)
    #expect(note == ClockNote(at: later.wall, revision: 8))
    // Requests in flight use the previous time for a moment longer.
    #expect(shift.span == instant(10).wall...instant(640).wall)
    #expect(shift.distance == day * 2)
    for _ in 0..<2 { check.settle(by: shift) }
    #expect(check.read(instant(611, ahead: day * 2)) == instant(611, ahead: day * 2).wall)
    #expect(check.doubt == nil)
  }

  @Test func `restarts the ten minutes after another jump`() throws {
    var check = fresh()
    _ = check.read(instant(10, ahead: day))
    #expect(check.read(instant(500, ahead: day * 50)) == instant(500).wall)
    #expect(check.note(at: instant(700, ahead: day * 50), after: nil).shift == nil)
    let shift = try #require(check.note(at: instant(1100, ahead: day * 50), after: nil).shift)
    // All of it was recorded with a time that was behind.
    #expect(shift.span.lowerBound == instant(10).wall)
  }

  @Test func `tolerates a slightly fast clock for years`() {
    var check = fresh()
    var ahead = Duration.zero
    for minute in Int64(1)...10_000 {
      ahead += .milliseconds(500)
      _ = check.read(instant(minute * 60, ahead: ahead))
      #expect(check.doubt == nil)
    }
  }

  @Test func `is not misled by many small jumps`() {
    var check = fresh()
    for second in Int64(1)...100 { _ = check.read(instant(second, ahead: .seconds(5) * Int(second))) }
    #expect(check.read(instant(101, ahead: .seconds(505))) == instant(101).wall)
  }

  @Test(arguments: [-10, 0, 120, 130]) func `trusts a clock at start that is close to the last note`(seconds: Int64) {
    var check = fresh(ClockNote(at: start.advanced(by: .seconds(-seconds))))
    #expect(check.doubt == nil)
    #expect(check.read(instant(0)) == start)
  }

  @Test(arguments: [-400 * 86_400, -11, 131, 100 * 86_400]) func `doubts a clock at start that is not`(
    seconds: Int64
  ) throws {
    let note = ClockNote(at: start.advanced(by: .seconds(-seconds)))
    var check = fresh(note)
    let time = check.read(instant(0))
    #expect(time == note.at.advanced(by: ClockCheck.slack))
    #expect(check.doubt?.since == time)
    let noted = check.note(at: instant(60), after: note).note
    #expect(noted == ClockNote(at: time.advanced(by: .seconds(60)), doubtedSince: time, revision: 1))
    let shift = try #require(check.note(at: instant(600), after: noted).shift)
    #expect(shift.span.lowerBound == time)
    #expect(time.advanced(by: .seconds(600)).advanced(by: shift.distance) == instant(600).wall)
  }

  /// A note, and a start so many seconds later, by clocks that may differ.
  func restarted(
    after seconds: Int64, by uptime: Int64? = nil, boot: UInt64 = 7, of note: UInt64? = 7, doubted: Bool = false
  ) -> ClockCheck {
    var last = ClockNote(at: start, doubtedSince: doubted ? start.advanced(by: .seconds(-300)) : nil)
    last.boot = note.map { BootMark(id: $0, uptime: .seconds(1000)) }
    let now = Instant(
      wall: start.advanced(by: .seconds(seconds)), uptime: .seconds(1000 + (uptime ?? seconds)), boot: boot)
    return ClockCheck(at: now, after: last)
  }

  @Test(arguments: [-1, 0, 131, 652, 8 * 3600, 400 * 86_400]) func `believes a pause that the boot clock has measured`(
    seconds: Int64
  ) {
    for error in [Int64(-10), 0, 10] { #expect(restarted(after: seconds, by: max(0, seconds - error)).doubt == nil) }
    for error in [Int64(-12), 12, -86_400, 86_400] {
      let check = restarted(after: max(0, seconds) + error, by: max(0, seconds))
      #expect(check.doubt?.distance == .seconds(error), "exact, without the two minutes")
      #expect(check.doubt?.since == self.start.advanced(by: .seconds(max(0, seconds))) && check.doubt?.margin == .zero)
    }
  }

  /// At another boot.
  @Test(
    arguments: [
      (131, true), (8 * 3600, true), (7 * 86_400 + 10, true), (7 * 86_400 + 11, false), (-10, true), (-11, false),
      (-8 * 3600, false),
    ] as [(Int64, Bool)])
  func `believes that its machine was off for a week`(seconds: Int64, isBelieved: Bool) {
    #expect((restarted(after: seconds, by: -900, boot: 8).doubt == nil) == isBelieved)
    // The same boot, it seems, and yet its clock runs backwards: as in a sandbox with a boot clock of its own.
    #expect((restarted(after: seconds, by: -900).doubt == nil) == isBelieved)
    guard seconds > 130 else { return }
    #expect(
      restarted(after: seconds, by: -900, boot: 8, of: nil).doubt?.margin == ClockCheck.slack, "another machine's")
    #expect(restarted(after: seconds, by: -900, boot: 8, doubted: true).doubt != nil, "times have to be moved")
  }

  @Test func `notes the boot clock`() {
    var check = ClockCheck(at: Instant(wall: start, uptime: .seconds(5), boot: 7), after: nil)
    let later = Instant(wall: start.advanced(by: .seconds(60)), uptime: .seconds(65), boot: 7)
    #expect(check.read(later) == later.wall)
    #expect(check.note(at: later, after: nil).note.boot == BootMark(id: 7, uptime: .seconds(65)))
  }

  @Test func `dates by no later time than it may be, until it knows the time of another server`() {
    var check = restarted(after: 86_400, by: -900, of: nil)
    #expect(check.doubt?.margin == ClockCheck.slack)
    let (wall, uptime) = (start.advanced(by: .seconds(86_460)), Duration.seconds(160))
    let instant = Instant(wall: wall, uptime: uptime)
    let now = check.read(instant)
    let reading = ServerClock.Reading(now: now, wall: wall, margin: ClockCheck.slack)
    #expect(reading.issueTime == start.advanced(by: .seconds(60)))
    _ = check.follow(ClockNote(at: start.advanced(by: .seconds(65)), revision: 1), at: instant)
    #expect(check.doubt?.margin == .zero)
  }

  @Test func `does not run faster with repeated restarts`() {
    var note = ClockNote(at: start.advanced(by: .zero - day * 100))
    let first = fresh(note).note(at: instant(0), after: nil).note.at
    for seconds in Int64(1)...100 {
      let check = fresh(note, at: instant(seconds - 1))
      note = check.note(at: instant(seconds), after: note).note
    }
    #expect(note.at.since(first) == .seconds(100))
    #expect(note.doubtedSince == first)
  }

  @Test(arguments: [(90, false), (-90, false), (86_400, true), (-86_400, true)] as [(Int64, Bool)])
  func `repeats a shift only if moved times lie outside the span`(seconds: Int64, isRepeatable: Bool) throws {
    var check = fresh()
    let jump = Duration.seconds(seconds)
    _ = check.read(instant(10, ahead: jump))
    let shift = try #require(check.note(at: instant(610, ahead: jump), after: nil).shift)
    #expect(shift.isRepeatable == isRepeatable)
    guard isRepeatable else { return }
    for time in [shift.span.lowerBound, shift.span.upperBound] {
      #expect(!shift.span.contains(time.advanced(by: jump)))
    }
  }

  @Test func `corrects nothing if the clock came back while the server was down`() {
    let note = ClockNote(at: start.advanced(by: .seconds(-30)), doubtedSince: start.advanced(by: .seconds(-300)))
    var check = fresh(note)
    #expect(check.read(instant(0)) == start)
    #expect(check.doubt == nil)
  }

  @Test(arguments: [-100 * 86_400, -60, 60, 100 * 86_400]) func `believes another server sooner than its own clock`(
    seconds: Int64
  ) {
    let ahead = Duration.seconds(seconds)
    var check = fresh()
    // Once a minute, another server whose clock has not jumped.
    for minute in Int64(1)...60 {
      _ = check.read(instant(minute * 60, ahead: ahead))
      let note = ClockNote(at: instant(minute * 60 - 1).wall)
      #expect(check.follow(note, at: instant(minute * 60, ahead: ahead)) == nil)
      #expect(check.note(at: instant(minute * 60, ahead: ahead), after: note).shift == nil)
    }
    #expect(check.read(instant(3601, ahead: ahead)) == instant(3601).wall)
    // It has jumped as well, and confirms the time.
    let shift = check.follow(
      ClockNote(at: instant(3602, ahead: ahead).wall), at: instant(3603, ahead: ahead))
    #expect(shift?.distance == ahead)
  }

  @Test func `takes the time of another server while its own is wrong`() {
    // Started beside another server, with a clock that is wrong: the last note may be two minutes old.
    let wrong = instant(0, ahead: day)
    var check = fresh(ClockNote(at: start), at: wrong)
    #expect(check.read(wrong) == start.advanced(by: .seconds(120)))
    #expect(check.follow(ClockNote(at: instant(5).wall, revision: 1), at: instant(5, ahead: day)) == nil)
    #expect(check.read(instant(6, ahead: day)) == instant(6).wall)
    #expect(check.doubt != nil)
  }
}
#endif
