#if Server
public import HandstampCore

extension Mail {
  public enum LineEnd: String, Sendable {
    /// As in files and on the wire (RFC 5322 section 2.1).
    case crlf = "\r\n"
    /// As Unix programs expect it on standard input.
    case lf = "\n"
  }

  /// Returns the mail in the format of RFC 5322. Control characters are removed from headers, so that each stays one line.
  public func message(_ end: LineEnd) -> Secret {
    let headers = [
      ("From", "<\(from.address)>"), ("To", "<\(to.address)>"), ("Subject", "\(subject)"), ("Date", sentAt.mailDate),
      ("Message-ID", "<\(id)@\(from.address.split(separator: "@").last ?? "localhost")>"),
      // Stops automatic replies (RFC 3834).
      ("Auto-Submitted", "auto-generated"), ("MIME-Version", "1.0"), ("Content-Type", "text/plain; charset=utf-8"),
      ("Content-Transfer-Encoding", "8bit"),
    ]
    var message = ""
    for (name, value) in headers {
      let value = String(String.UnicodeScalarView(value.unicodeScalars.filter { $0.value >= 32 && $0.value != 127 }))
      message += name + ": " + value + end.rawValue
    }
    message += end.rawValue
    text.withExposed { text in
      for line in text.split(separator: "\n", omittingEmptySubsequences: false) { message += line + end.rawValue }
    }
    return Secret(message)
  }
}

extension UnixTime {
  /// The time in the format of a `Date` header (RFC 5322 section 3.3), in UTC.
  var mailDate: String {
    let (days, seconds) = (Int(floor: milliseconds, by: 86_400_000), Int(modulo: milliseconds, by: 86_400_000) / 1000)
    let names = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    // Converts days to a calendar date, in eras of 400 years that start in March.
    let shifted = days + 719_468
    let (era, day) = (Int(floor: Int64(shifted), by: 146_097), Int(modulo: Int64(shifted), by: 146_097))
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365
    let ofYear = day - (365 * year + year / 4 - year / 100)
    let march = (5 * ofYear + 2) / 153
    let month = (march + 2) % 12
    let date = ofYear - (153 * march + 2) / 5 + 1
    let calendarYear = year + era * 400 + (month < 2 ? 1 : 0)
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let time = "\(two(seconds / 3600)):\(two(seconds / 60 % 60)):\(two(seconds % 60))"
    // The epoch was a Thursday.
    return "\(names[Int(modulo: Int64(days) + 3, by: 7)]), \(two(date)) \(months[month]) \(calendarYear) \(time) +0000"
  }
}

extension Int {
  fileprivate init(floor number: Int64, by size: Int64) {
    self = Int((number >= 0 ? number : number - size + 1) / size)
  }
  fileprivate init(modulo number: Int64, by size: Int64) {
    let rest = number % size
    self = Int(rest >= 0 ? rest : rest + size)
  }
}
#endif
