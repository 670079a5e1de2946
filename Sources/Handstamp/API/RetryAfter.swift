extension TransportResponse {
  /// Returns `Retry-After` (RFC 9110 section 10.2.3), given in seconds or as a date; `nil` if it is missing or not valid.
  ///
  /// A date is measured against the response's own `Date`, so that a wrong device clock does not change the delay; against
  /// `now` if there is none. At most a day.
  func retryDelay(at now: UnixTime) -> Duration? {
    guard let text = header("Retry-After") else { return nil }
    let day = Duration.seconds(86_400)
    if !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) {
      return Int64(text).map { min(.seconds(min($0, 86_400)), day) } ?? day
    }
    guard let time = UnixTime(httpDate: text) else { return nil }
    let sent = header("Date").flatMap { UnixTime(httpDate: $0) } ?? now
    return min(max(.zero, time.since(sent)), day)
  }
}

extension UnixTime {
  /// Parses an HTTP date (RFC 9110 section 5.6.7) in any of its three forms; `nil` for any other text.
  ///
  /// | form | example |
  /// |---|---|
  /// | IMF-fixdate | `Sun, 06 Nov 1994 08:49:37 GMT` |
  /// | RFC 850 | `Sunday, 06-Nov-94 08:49:37 GMT` |
  /// | asctime | `Sun Nov  6 08:49:37 1994` |
  init?(httpDate text: String) {
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
    let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let parts = clock.split(separator: ":", omittingEmptySubsequences: false).map(UnixTime.number)
    guard let day = UnixTime.number(day), let month = names.firstIndex(where: { $0 == month }),
      var years = UnixTime.number(year), parts.count == 3, let hours = parts[0], let minutes = parts[1],
      let seconds = parts[2], (1...31).contains(day), hours < 24, minutes < 60, seconds <= 60
    else { return nil }
    // Two-digit years are within the past hundred years (RFC 9110 section 5.6.7); every relevant date is after 2000.
    if year.count == 2 { years += years < 70 ? 2000 : 1900 }
    guard (1970...9999).contains(years) else { return nil }
    self.init(seconds: UnixTime.days(years, month + 1, day) * 86_400 + hours * 3600 + minutes * 60 + min(seconds, 59))
  }

  private static func number(_ text: Substring) -> Int64? {
    guard (1...4).contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    return Int64(text)
  }

  /// Returns the days since 1970-01-01, computed in 400-year eras that begin on 1 March.
  private static func days(_ year: Int64, _ month: Int, _ day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = shifted / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * Int64(month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}
