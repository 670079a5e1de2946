import HandstampCore
import HandstampSupport

/// Parses the dates of cookies and of HTTP, in any of their forms (RFC 6265 section 5.1.1).
enum CookieDate {
  private static let months = HTTPDate.months.map { $0.lowercased() }

  static func parse(_ text: String) -> UnixTime? {
    var (time, day, month, year): ((Int64, Int64, Int64)?, Int64?, Int64?, Int64?)
    for token in text.utf8.split(whereSeparator: isDelimiter) {
      let token = Array(token)
      if time == nil, let found = clock(token) {
        time = found
      } else if day == nil, let found = number(token, 1...2) {
        day = found
      } else if month == nil,
        let found = months.firstIndex(of: String(decoding: token.prefix(3), as: UTF8.self).lowercased())
      {
        month = Int64(found) + 1
      } else if year == nil, let found = number(token, 2...4) {
        year = found < 70 ? found + 2000 : found < 100 ? found + 1900 : found
      }
    }
    guard let (hour, minute, second) = time, let day, let month, let year, year >= 1601,
      hour <= 23, minute <= 59, second <= 59, let date = CivilDate(year: year, month: month, day: day)
    else { return nil }
    return UnixTime(
      seconds: CivilTime(date: date, secondOfDay: hour * 3600 + minute * 60 + second).secondsSince1970)
  }

  private static func isDelimiter(_ byte: UInt8) -> Bool {
    byte == 9 || (0x20...0x2f).contains(byte) || (0x3b...0x40).contains(byte) || (0x5b...0x60).contains(byte)
      || (0x7b...0x7e).contains(byte)
  }

  /// Returns the number at the start of the token, if it has this many digits; other characters may follow.
  private static func number(_ token: [UInt8], _ count: ClosedRange<Int>) -> Int64? {
    let digits = token.prefix(while: \.isDigit)
    guard count.contains(digits.count) else { return nil }
    return digits.reduce(0) { $0 * 10 + Int64($1 - 48) }
  }

  private static func clock(_ token: [UInt8]) -> (Int64, Int64, Int64)? {
    let parts = token.split(separator: 58, maxSplits: 2, omittingEmptySubsequences: false).map(Array.init)
    guard parts.count == 3, let hour = number(parts[0], 1...2), parts[0].count <= 2,
      let minute = number(parts[1], 1...2), parts[1].count <= 2, let second = number(parts[2], 1...2)
    else { return nil }
    return (hour, minute, second)
  }
}
