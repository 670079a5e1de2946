#if Server
import HandstampCore
import HandstampSupport

/// Writes times in the words of a language.
struct PageDates: Sendable {
  let pages: PageWriter
  let language: String
  let now: UnixTime

  /// "3 minutes ago", and a day for what is a week ago.
  func relative(_ time: UnixTime) -> PageValue { value(time, words(time)) }

  /// The text of ``relative(_:)``.
  func words(_ time: UnixTime) -> String {
    let seconds = now.seconds - time.seconds
    let words: PageText? =
      switch seconds {
      case ..<60: "time.now"
      case ..<120: "time.minute_ago"
      case ..<3600: PageText("time.minutes_ago", ["count": .text(String(seconds / 60))])
      case ..<7200: "time.hour_ago"
      case ..<86_400: PageText("time.hours_ago", ["count": .text(String(seconds / 3600))])
      case ..<172_800: "time.yesterday"
      case ..<604_800: PageText("time.days_ago", ["count": .text(String(seconds / 86_400))])
      default: nil
      }
    return words.map { pages.text($0, in: language) } ?? text("date.day", time)
  }

  /// "24 November 2026", in UTC.
  func day(_ time: UnixTime) -> PageValue { value(time, text("date.day", time)) }

  /// "24 November 2026, 14:05 UTC".
  func minute(_ time: UnixTime) -> PageValue { value(time, text("date.minute", time)) }

  /// "24 November 2026, 14:05:09 UTC".
  func second(_ time: UnixTime) -> PageValue { value(time, text("date.minute", time, hasSeconds: true)) }

  private func value(_ time: UnixTime, _ text: String) -> PageValue {
    .object(["iso": .text(time.description), "text": .text(text)])
  }

  private func text(_ key: String, _ time: UnixTime, hasSeconds: Bool = false) -> String {
    let civil = CivilTime(secondsSince1970: time.seconds)
    let month = pages.text(PageText("date.month_\(civil.date.month)"), in: language)
    let clock = civil.clock.prefix(hasSeconds ? 8 : 5)
    return pages.text(
      PageText(
        key,
        [
          "day": .text(String(civil.date.day)), "month": .text(month), "year": .text(String(civil.date.year)),
          "time": .text((clock.first == "0" ? clock.dropFirst() : clock) + " UTC"),
        ]), in: language)
  }
}

extension PageWriter {
  /// "in 5 minutes", for the time after which a refused request may succeed.
  func wait(for seconds: Int, in language: String) -> PageValue {
    let minutes = (seconds + 59) / 60
    let words: PageText =
      switch minutes {
      case ...1: "time.in_a_minute"
      case ..<120: PageText("time.in_minutes", ["count": .text(String(minutes))])
      default: PageText("time.in_hours", ["count": .text(String((minutes + 59) / 60))])
      }
    return .text(text(words, in: language))
  }
}
#endif
