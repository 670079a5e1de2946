import Foundation
import Testing

@testable import ForumReader

@Suite(.timeLimit(.minutes(10))) struct `A date of the forum` {
  /// 2 January 2026, 15:04, in universal time.
  private static let moment = 1_767_366_240

  @Test(arguments: [
    "Jan 2, 2026 3:04 PM", "Jan 2, 2026 15:04", "15:04 Jan 2, 2026", "03:04 pm Jan 2, 2026",
    "January 2nd, 2026 at 3:04 p.m.",
    "Fri, 2 Jan 2026 15:04:00", "# ¿ Jan 2, 2026 15:04", "15:04¿Jan¿ 2,¿2026", "15:04\u{A0}Jan\u{A0}2, 2026",
    "Jan 2, 2026 at 15:04",
    "January 2, 2026 3:04 p.m. CST", "  jan  2 2026   15:04 PM ",
  ])
  func `is read in any format`(text: String) { #expect(ForumDate(text).seconds == Self.moment) }

  @Test(arguments: [
    ("Jan 1, 2026 12:00 AM", 0), ("Jan 1, 2026 12:00 PM", 12), ("Jan 1, 2026 0:00", 0), ("Jan 1, 2026 12:00", 12),
    ("Jan 1, 2026", 0), ("Jan 1, 2026 11:00 PM", 23), ("Jan 1, 2026 1:00 am", 1),
  ])
  func `distinguishes noon from midnight`(text: String, hour: Int) {
    #expect(ForumDate(text).seconds == 1_767_225_600 + hour * 3600)
  }

  @Test(arguments: [
    "", "Jan 2", "yesterday", "Feb 30, 2026", "Jan 0, 2026", "Feb 29, 2100", "Jan 2, 2026 25:00", "Jan 2, 2026 10:60",
    "Jan Feb 2026", "Jan 2 3, 2026", "2026 2027 Jan 2", "10:10 11:11 Jan 2, 2026", "Jan 2, 2026 AM PM", ":",
    "Jan 2, 2026 3:",
    "99999999999999999999", "Jan 2, 99999", "2 Gen 2026", "Jän 2, 2026", String(repeating: "Jan ", count: 50),
  ])
  func `keeps its text if the moment is unknown`(text: String) {
    let date = ForumDate(text)
    #expect(date.seconds == nil)
    #expect(date.text == text)
  }

  @Test(arguments: ["MMM d, yyyy h:mm a", "HH:mm MMM d, yyyy"])
  func `agrees with Foundation on any day`(format: String) {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = format
    // Every third day of three centuries, each at a different minute.
    for day in 0..<100 * 365 {
      let seconds = -2_208_988_800 + day * 3 * 86_400 + day % 1440 * 60
      let text = formatter.string(from: Date(timeIntervalSince1970: TimeInterval(seconds)))
      #expect(ForumDate(text).seconds == seconds)
    }
  }
}
