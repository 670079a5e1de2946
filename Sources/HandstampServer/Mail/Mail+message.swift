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
      ("From", "<\(from.address)>"), ("To", "<\(to.address)>"), ("Subject", "\(subject)"),
      ("Date", sentAt.httpDate + " +0000"),
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
#endif
