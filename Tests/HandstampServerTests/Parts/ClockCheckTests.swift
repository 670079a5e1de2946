#if Programs
import HandstampCore
import HandstampRegistry
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A clock check` {
  typealias Instant = ClockCheck.Instant
  let start = UnixTime(seconds: 1_800_000_000)
  let day = Duration.seconds(86_400)
  let slack = Duration.seconds(120)

  /// Both clocks after that many seconds, with the wall clock set ahead.
  func instant(_ seconds: Int64, ahead: Duration = .zero) -> Instant {
    Instant(wall: start.advanced(by: .seconds(seconds) + ahead), uptime: .seconds(5 + seconds))
  }

  func fresh(_ note: ClockNote? = nil, at first: Instant? = nil) -> ClockCheck {
    ClockCheck(at: first ?? instant(0), after: note, slack: slack)
  }

  @Test(arguments: [-10, -1, 0, 1, 10]) func `follows a clock that stays close`(seconds: Int64) {
    var check = fresh()
    let near = instant(30, ahead: .seconds(seconds))
    let (time, verdict) = check.read(near)
    #expect(time == near.wall)
    #expect(verdict == .agreed)
    #expect(check.correction(at: near) == nil)
  }

  @Test(arguments: [-100 * 86_400, -11, 11, 7200, 100 * 86_400]) func `does not follow a clock that jumps`(
    seconds: Int64
  ) {
    var check = fresh()
    let jumped = Duration.seconds(seconds)
    #expect(check.read(instant(10, ahead: jumped)) == (instant(10).wall, .doubted(by: jumped, isNew: true)))
    #expect(check.read(instant(599, ahead: jumped)) == (instant(599).wall, .doubted(by: jumped, isNew: false)))
    #expect(check.correction(at: instant(609, ahead: jumped)) == nil)
    #expect(check.read(instant(60)) == (instant(60).wall, .returned))
    #expect(check.read(instant(61)) == (instant(61).wall, .agreed))
    #expect(check.correction(at: instant(10_000)) == nil)
  }

  @Test func `trusts a clock again after ten steady minutes`() throws {
    var check = fresh()
    _ = check.read(instant(10, ahead: day * 2))
    let later = instant(610, ahead: day * 2)
    let correction = try #require(check.correction(at: later))
    #expect(correction.span == instant(10).wall...instant(610).wall)
    #expect(correction.distance == day * 2)
    check.settle(at: later)
    #expect(check.read(instant(611, ahead: day * 2)) == (instant(611, ahead: day * 2).wall, .agreed))
  }

  @Test func `restarts the ten minutes after another jump`() throws {
    var check = fresh()
    _ = check.read(instant(10, ahead: day))
    let second = check.read(instant(500, ahead: day * 50))
    #expect(second == (instant(500).wall, .doubted(by: day * 50, isNew: true)))
    #expect(check.correction(at: instant(700, ahead: day * 50)) == nil)
    let correction = try #require(check.correction(at: instant(1100, ahead: day * 50)))
    // All of it was recorded with a time that was behind.
    #expect(correction.span.lowerBound == instant(10).wall)
  }

  @Test func `tolerates a slightly fast clock for years`() {
    var check = fresh()
    var ahead = Duration.zero
    for minute in Int64(1)...10_000 {
      ahead += .milliseconds(500)
      #expect(check.read(instant(minute * 60, ahead: ahead)).verdict == .agreed)
    }
  }

  @Test func `is not misled by many small jumps`() {
    var check = fresh()
    for second in Int64(1)...100 { _ = check.read(instant(second, ahead: .seconds(5) * Int(second))) }
    #expect(check.read(instant(101, ahead: .seconds(505))).time == instant(101).wall)
  }

  @Test(arguments: [-10, 0, 120, 130]) func `trusts a clock at start that is close to the last note`(seconds: Int64) {
    let note = ClockNote(at: start.advanced(by: .seconds(-seconds)))
    var check = fresh(note)
    #expect(check.read(instant(0)) == (start, .agreed))
  }

  @Test(arguments: [-400 * 86_400, -11, 131, 100 * 86_400]) func `doubts a clock at start that is not`(
    seconds: Int64
  ) throws {
    let note = ClockNote(at: start.advanced(by: .seconds(-seconds)))
    var check = fresh(note)
    let (time, verdict) = check.read(instant(0))
    #expect(time == note.at.advanced(by: slack))
    guard case .doubted(_, isNew: false) = verdict else {
      Issue.record("\(verdict)")
      return
    }
    let noted = check.note(at: instant(60))
    #expect(noted.at == time.advanced(by: .seconds(60)))
    #expect(noted.doubtedSince == time)
    let correction = try #require(check.correction(at: instant(600)))
    #expect(correction.span.lowerBound == time)
    #expect(
      correction.span.lowerBound.advanced(by: .seconds(600)).advanced(by: correction.distance) == instant(600).wall)
  }

  @Test func `does not run faster with repeated restarts`() {
    var note = ClockNote(at: start.advanced(by: .zero - day * 100))
    let first = fresh(note).note(at: instant(0)).at
    for seconds in Int64(1)...100 {
      let check = fresh(note, at: instant(seconds - 1))
      note = check.note(at: instant(seconds))
    }
    #expect(note.at.since(first) == .seconds(100))
    #expect(note.doubtedSince == first)
  }

  @Test func `corrects a time once if the jump is shorter than the doubt`() throws {
    var check = fresh()
    for (jump, isTold) in [(Duration.seconds(90), false), (.seconds(-90), false), (day, true), (.zero - day, true)] {
      _ = check.read(instant(10, ahead: jump))
      let correction = try #require(check.correction(at: instant(610, ahead: jump)))
      #expect((correction.rest != nil) == isTold)
      // The corrected times do not lie in the range that is searched for the rest.
      if let rest = correction.rest {
        for time in [correction.span.lowerBound, correction.span.upperBound] {
          #expect(!rest.contains(time.advanced(by: jump)))
        }
      }
      _ = check.read(instant(611))
    }
  }

  @Test func `corrects nothing if the clock came back while the server was down`() {
    let note = ClockNote(at: start.advanced(by: .seconds(-30)), doubtedSince: start.advanced(by: .seconds(-300)))
    var check = fresh(note)
    #expect(check.read(instant(0)).verdict == .agreed)
  }
}
#endif
