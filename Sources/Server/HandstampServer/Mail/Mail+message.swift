#if Server
import Foundation
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
      message += name + ": " + (name == "Subject" ? Mail.encoded(value, end) : value) + end.rawValue
    }
    message += end.rawValue
    text.withExposed { text in
      for line in text.split(separator: "\n", omittingEmptySubsequences: false) { message += line + end.rawValue }
    }
    return Secret(message)
  }

  /// Returns a text for a header: as encoded words if it is not ASCII (RFC 2047 section 2: lines of at most 76 characters).
  private static func encoded(_ text: String, _ end: LineEnd) -> String {
    guard !text.utf8.allSatisfy({ $0 < 128 }) else { return text }
    var (words, word) = ([String](), "")
    for character in text {
      if word.utf8.count + character.utf8.count > 36 { (words, word) = (words + [word], "") }
      word.append(character)
    }
    return (words + [word]).map { "=?utf-8?B?\(Data($0.utf8).base64EncodedString())?=" }
      .joined(separator: end.rawValue + " ")
  }
}
#endif
