import HandstampSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A civil date` {
  @Test func `names every day from 400 BC to 3200 once, in order`() throws {
    var previous = CivilDate(daysSince1970: -866_000)
    for days in Int64(-865_999)...450_000 {
      let date = CivilDate(daysSince1970: days)
      #expect(date.daysSince1970 == days)
      let isNext =
        date.day == previous.day + 1 && (date.month, date.year) == (previous.month, previous.year)
        || date.day == 1 && (date.month == previous.month + 1 && date.year == previous.year || date.month == 1)
      guard isNext, CivilDate(year: date.year, month: date.month, day: date.day) == date else {
        Issue.record("\(date) follows \(previous)")
        return
      }
      previous = date
    }
  }

  @Test func `is only a day that the calendar has`() {
    #expect(CivilDate(year: 2024, month: 2, day: 29) != nil && CivilDate(year: 2000, month: 2, day: 29) != nil)
    #expect(CivilDate(year: 2026, month: 2, day: 29) == nil && CivilDate(year: 1900, month: 2, day: 29) == nil)
    #expect(CivilDate(year: 2026, month: 4, day: 31) == nil && CivilDate(year: 2026, month: 13, day: 1) == nil)
    #expect(CivilDate(year: 2026, month: 0, day: 1) == nil && CivilDate(year: 2026, month: 1, day: 0) == nil)
  }

  @Test func `knows its weekday`() {
    #expect(CivilDate(daysSince1970: 0).weekday == 3)
    #expect(CivilDate(daysSince1970: -4).weekday == 6)
    #expect(CivilDate(year: 2026, month: 11, day: 22)?.weekday == 6)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `An HTTP date` {
  @Test(arguments: [
    "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
  ])
  func `is read in each of its three forms`(_ text: String) {
    #expect(HTTPDate.secondsSince1970(text) == 784_111_777)
  }

  @Test(arguments: [
    "", "yesterday", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 PST", "Sun, 31 Feb 2026 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:49 GMT",
    "Sun, 06 Nov 1969 08:49:37 GMT", "Sun, 06 November 1994 08:49:37 GMT", "Sun, 06 Nov 99999 08:49:37 GMT",
    "Sun, +6 Nov 1994 08:49:37 GMT",
  ])
  func `is nothing else`(_ text: String) {
    #expect(HTTPDate.secondsSince1970(text) == nil)
  }

  @Test func `is written as it is read`() {
    #expect(HTTPDate.text(CivilTime(secondsSince1970: 784_111_777)) == "Sun, 06 Nov 1994 08:49:37")
    for seconds in stride(from: Int64(0), to: 4_000_000_000, by: 12_345_678) {
      #expect(HTTPDate.secondsSince1970(HTTPDate.text(CivilTime(secondsSince1970: seconds)) + " GMT") == seconds)
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A duration in whole units` {
  @Test func `is rounded toward zero, and never wraps`() {
    #expect(Duration.microseconds(1999).wholeMilliseconds == 1)
    #expect(Duration.microseconds(-1999).wholeMilliseconds == -1)
    #expect(Duration.seconds(Int64.max).wholeMilliseconds == .max)
    #expect(Duration.seconds(Int64.min).wholeMilliseconds == .min)
    #expect(Duration.milliseconds(Int64.max).wholeMilliseconds == .max)
    #expect(Duration.milliseconds(-1500).wholeMilliseconds == -1500)
    #expect(Duration.seconds(1).wholeNanoseconds == 1_000_000_000)
    #expect((Duration.seconds(Int64.max) * 4).wholeNanoseconds == .max)
    #expect((Duration.seconds(Int64.max) * 4).roundedUpSeconds == .max)
    #expect((Duration.zero - .seconds(Int64.max) * 4).wholeNanoseconds == .min)
  }

  @Test(
    arguments: [(0, 0), (1, 1), (999, 1), (1000, 1), (1001, 2), (-1, 0), (-1000, -1), (-1001, -1)] as [(Int64, Int64)])
  func `is rounded up to seconds`(milliseconds: Int64, seconds: Int64) {
    #expect(Duration.milliseconds(milliseconds).roundedUpSeconds == seconds)
  }
}
