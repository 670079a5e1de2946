/// The dates of HTTP and of mail.
package enum HTTPDate {
  package static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
  private static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]

  /// Parses an HTTP date (RFC 9110 section 5.6.7) in any of its three forms: seconds since 1970; `nil` for any other text, and
  /// before 1970.
  ///
  /// | form | example |
  /// |---|---|
  /// | IMF-fixdate | `Sun, 06 Nov 1994 08:49:37 GMT` |
  /// | RFC 850 | `Sunday, 06-Nov-94 08:49:37 GMT` |
  /// | asctime | `Sun Nov  6 08:49:37 1994` |
  package static func secondsSince1970(_ text: String) -> Int64? {
    var words = text.split(whereSeparator: { $0 == " " || $0 == "," || $0 == "-" })
    guard words.count >= 5 else { return nil }
    words.removeFirst()
    let (day, month, year, clock): (Substring, Substring, Substring, Substring)
    if words.count == 5, words[4] == "GMT" {
      (day, month, year, clock) = (words[0], words[1], words[2], words[3])
    } else if words.count == 4 {
      (month, day, clock, year) = (words[0], words[1], words[2], words[3])
    } else {
      return nil
    }
    let parts = clock.split(separator: ":", omittingEmptySubsequences: false).map(number)
    guard let day = number(day), let month = months.firstIndex(where: { $0 == month }),
      var years = number(year), parts.count == 3, let hours = parts[0], let minutes = parts[1],
      let seconds = parts[2], hours < 24, minutes < 60, seconds <= 60
    else { return nil }
    // Two-digit years are within the past hundred years (RFC 9110 section 5.6.7); every relevant date is after 2000.
    if year.count == 2 { years += years < 70 ? 2000 : 1900 }
    guard years >= 1970, let date = CivilDate(year: years, month: Int64(month) + 1, day: day) else { return nil }
    return CivilTime(date: date, secondOfDay: hours * 3600 + minutes * 60 + min(seconds, 59)).secondsSince1970
  }

  /// `Sun, 06 Nov 1994 08:49:37`, to be followed by ` GMT` in HTTP and by ` +0000` in mail (RFC 5322 section 3.3).
  package static func text(_ time: CivilTime) -> String {
    let date = time.date
    return "\(weekdays[date.weekday]), \(padded(date.day)) \(months[Int(date.month) - 1]) \(padded(date.year, to: 4))"
      + " \(time.clock)"
  }

  private static func number(_ text: Substring) -> Int64? {
    guard (1...4).contains(text.utf8.count), text.utf8.allSatisfy(\.isDigit) else { return nil }
    return Int64(text)
  }
}
