/// A day of the Gregorian calendar, also before its introduction.
package struct CivilDate: Sendable, Hashable {
  package var year: Int64
  /// 1 … 12.
  package var month: Int64
  /// 1 … 31.
  package var day: Int64

  /// Returns `nil` for a day that the calendar does not have.
  package init?(year: Int64, month: Int64, day: Int64) {
    guard (1...12).contains(month), (1...CivilDate.length(of: month, year)).contains(day) else { return nil }
    self.year = year
    self.month = month
    self.day = day
  }

  /// The day that is `days` after 1970-01-01, computed in 400-year eras that begin on 1 March.
  package init(daysSince1970 days: Int64) {
    let shifted = days + 719_468
    let era = shifted.dividedRoundingDown(by: 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  /// Days since 1970-01-01.
  package var daysSince1970: Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = shifted.dividedRoundingDown(by: 400)
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// 0 for Monday … 6 for Sunday.
  package var weekday: Int { Int((daysSince1970 + 3) - (daysSince1970 + 3).dividedRoundingDown(by: 7) * 7) }

  private static func length(of month: Int64, _ year: Int64) -> Int64 {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    return [4, 6, 9, 11].contains(month) ? 30 : month != 2 ? 31 : isLeap ? 29 : 28
  }
}

/// A second of civil time in UTC, without leap seconds.
package struct CivilTime: Sendable, Hashable {
  package var date: CivilDate
  /// 0 … 86,399.
  package var secondOfDay: Int64

  package init(date: CivilDate, secondOfDay: Int64) {
    self.date = date
    self.secondOfDay = secondOfDay
  }

  package init(secondsSince1970 seconds: Int64) {
    let days = seconds.dividedRoundingDown(by: 86_400)
    date = CivilDate(daysSince1970: days)
    secondOfDay = seconds - days * 86_400
  }

  package var secondsSince1970: Int64 { date.daysSince1970 * 86_400 + secondOfDay }

  /// `08:49:37`.
  package var clock: String {
    "\(padded(secondOfDay / 3600)):\(padded(secondOfDay / 60 % 60)):\(padded(secondOfDay % 60))"
  }
}

/// The number in decimal digits, with leading zeros up to `width`.
package func padded(_ number: Int64, to width: Int = 2) -> String {
  let text = String(number)
  return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
}

extension Int64 {
  package func dividedRoundingDown(by divisor: Int64) -> Int64 {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
  }
}
