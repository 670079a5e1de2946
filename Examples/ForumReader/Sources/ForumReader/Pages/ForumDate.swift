/// A date as written by the forum, and its moment, if it can be determined.
///
/// Members choose their date format, so any format that identifies a day is accepted: in English, with or without a
/// time, before or after the day, on a 12-hour or 24-hour clock.
///
/// | text | moment |
/// |---|---|
/// | `Jan 2, 2026 3:04 PM`, `15:04 Jan 2, 2026` | 2 January, 15:04 |
/// | `3:04 p.m. CST, Jan¿ 2, 2026` | 2 January, 15:04 |
/// | `December 10, 2001` | that day, 00:00 |
/// | `Jan 2`, `yesterday`, `Feb 30, 2026` | `nil`; the text stays |
public struct ForumDate: Sendable, Hashable, ExpressibleByStringLiteral {
  /// The text on the page.
  public let text: String
  /// Seconds since 1970, as if the forum's clock showed UTC. Its time zone is unknown, so use this only for sorting,
  /// not for telling the time.
  public let seconds: Int?

  public init(_ text: String) {
    self.text = text
    seconds = Reading(text)?.seconds
  }

  public init(stringLiteral text: String) { self.init(text) }
}

/// The parts of a date, taken from a text in any order.
private struct Reading {
  private var year: Int?
  private var month: Int?
  private var day: Int?
  private var time: (hour: Int, minute: Int, second: Int)?
  private var isAfternoon: Bool?

  private enum Part {
    case word(String)
    case number(Int, digits: Int)
    case colon
  }

  private static let months = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
  ]
  /// Words beside a date that add no information.
  private static let others: Set<String> = [
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "mon", "tue", "wed", "thu", "fri",
    "sat", "sun", "st", "nd", "rd", "th", "at", "on",
    // Time zones: see ``ForumDate/seconds``.
    "utc", "gmt", "est", "edt", "cst", "cdt", "mst", "mdt", "pst", "pdt",
  ]

  /// Returns `nil` for a text that is not a date, or has one part twice.
  init?(_ text: String) {
    guard text.utf8.count <= 100 else { return nil }
    var parts = Reading.parts(text)[...]
    while let part = parts.popFirst() {
      let isRead =
        switch part {
        case .colon: false
        case .word(let word): read(word)
        case .number(let number, let digits):
          Reading.startsTime(parts) ? read(hour: number, &parts) : read(number, digits)
        }
      guard isRead else { return nil }
    }
  }

  /// `nil` for a day that does not exist.
  var seconds: Int? {
    guard let year, let month, let day, year >= 1900, day >= 1, day <= Reading.days(month, of: year) else { return nil }
    var (hour, minute, second) = time ?? (0, 0, 0)
    // Above twelve, AM and PM make no difference.
    if let isAfternoon, hour <= 12 { hour = hour % 12 + (isAfternoon ? 12 : 0) }
    guard hour < 24, minute < 60, second < 60 else { return nil }
    return ((Reading.dayNumber(year, month, day) * 24 + hour) * 60 + minute) * 60 + second
  }

  private static func parts(_ text: String) -> [Part] {
    var parts: [Part] = []
    var rest = text.lowercased().unicodeScalars[...]
    while let scalar = rest.first {
      let run = rest.prefix { kind($0) == kind(scalar) }
      rest = rest[run.endIndex...]
      switch kind(scalar) {
      case .letter: parts.append(.word(String(run)))
      // This many digits are not part of a date, and do not need to fit.
      case .digit: parts.append(.number(Int(String(run.prefix(9))) ?? 0, digits: run.count))
      case .other: if run.contains(":") { parts.append(.colon) }
      }
    }
    return parts
  }

  private enum Kind { case letter, digit, other }
  private static func kind(_ scalar: Unicode.Scalar) -> Kind {
    switch scalar {
    case "a"..."z": .letter
    case "0"..."9": .digit
    // A letter of another script is part of an unknown word. A space or a sign, such as the `¿` of a page that was once
    // converted from another charset, is ignored.
    case "\u{80}"...: scalar.properties.isAlphabetic || scalar.properties.numericType != nil ? .letter : .other
    default: .other
    }
  }

  private static func startsTime(_ parts: ArraySlice<Part>) -> Bool {
    if case .colon = parts.first { true } else { false }
  }

  private mutating func read(_ word: String) -> Bool {
    switch word {
    case "am", "pm", "a", "p":
      guard isAfternoon == nil else { return false }
      isAfternoon = word.hasPrefix("p")
      return true
    // The rest of `a.m.`
    case "m": return isAfternoon != nil
    default: break
    }
    if let index = Reading.months.firstIndex(where: { word.utf8.count >= 3 && $0.hasPrefix(word) }) {
      guard month == nil else { return false }
      month = index + 1
      return true
    }
    return Reading.others.contains(word)
  }

  private mutating func read(_ number: Int, _ digits: Int) -> Bool {
    if digits == 4 {
      guard year == nil else { return false }
      year = number
    } else {
      guard digits <= 2, day == nil else { return false }
      day = number
    }
    return true
  }

  /// Reads the rest of a time after the hour; the next part is a colon.
  private mutating func read(hour: Int, _ parts: inout ArraySlice<Part>) -> Bool {
    var numbers = [hour]
    while Reading.startsTime(parts), numbers.count < 3 {
      guard case .number(let number, digits: 2) = parts.dropFirst().first else { return false }
      numbers.append(number)
      parts = parts.dropFirst(2)
    }
    guard time == nil else { return false }
    time = (numbers[0], numbers[1], numbers.count > 2 ? numbers[2] : 0)
    return true
  }

  private static func days(_ month: Int, of year: Int) -> Int {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    return month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
  }

  /// Returns the days since 1970 in the Gregorian calendar: Hinnant, chrono-compatible low-level date algorithms,
  /// `days_from_civil`.
  private static func dayNumber(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let shifted = month <= 2 ? year - 1 : year
    let (era, yearOfEra) = (shifted / 400, shifted % 400)
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}
