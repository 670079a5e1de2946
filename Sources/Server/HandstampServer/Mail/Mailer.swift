#if Server
import Foundation
public import HandstampCore
public import HandstampRegistry

/// Delivers the server's mails.
public protocol Mailer: Sendable {
  /// Hands a mail over for delivery, outside any request. Called for several mails at once, and again later for one that failed.
  @concurrent func send(_ mail: Mail) async throws(MailError)

  /// Removes what it keeps of mails whose codes have expired. Called about once an hour. By default, it does nothing.
  @concurrent func tidy(at now: UnixTime) async
}

extension Mailer {
  @concurrent public func tidy(at now: UnixTime) async {}
}

/// A failure to hand over a mail.
public enum MailError: Error, Sendable, Hashable {
  /// The folder, the program or the mail server is not usable at the moment. The text says why, without address or content.
  case unavailable(String)
  /// The program exited with this status.
  case refused(status: Int32)
  /// The program took too long and was killed, or the mail server did not answer in time.
  case timedOut
  /// The mail server refused the recipient or the mail, with this reply code (RFC 5321 section 4.2).
  case rejected(code: Int)
  /// An address has characters outside ASCII, and the mail server lacks SMTPUTF8 (RFC 6531).
  case needsSMTPUTF8
  /// Mail cannot be sent to this address.
  case badAddress

  /// Whether the same mail would fail again later.
  public var isPermanent: Bool {
    switch self {
    // The mail is malformed, or its user or host does not exist (sysexits.h: EX_DATAERR, EX_NOUSER, EX_NOHOST).
    case .refused(let status): [65, 67, 68].contains(status)
    case .rejected(let code): code >= 500
    case .badAddress, .needsSMTPUTF8: true
    case .unavailable, .timedOut: false
    }
  }
}

/// An address that a mail can be sent to: a `dot-atom` at a domain (RFC 5322 section 3.4.1, RFC 6531 for other scripts).
/// It has no characters that are special in a header, so it is always exactly one address.
public struct Mailbox: Sendable, Hashable {
  public let address: String

  /// Returns `nil` for an address with quotes, commas, brackets, comments or similar.
  public init?(_ email: EmailAddress) { self.init(email.typed) }

  public init?(_ text: String) {
    guard text.utf8.count <= EmailAddress.maxLength, let at = text.lastIndex(of: "@") else { return nil }
    let (local, domain) = (text[..<at], text[text.index(after: at)...])
    guard Mailbox.isDotted(local, Mailbox.isAtom), local.utf8.count <= 64,
      Mailbox.isDotted(domain, { Mailbox.isWordly($0) || $0 == "-" })
    else { return nil }
    address = text
  }

  private static func isDotted(_ text: Substring, _ isAllowed: (Unicode.Scalar) -> Bool) -> Bool {
    text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { part in
      let isWhole = part.unicodeScalars.allSatisfy(isAllowed)
      return isWhole && !part.isEmpty
    }
  }

  private static func isWordly(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return scalar.properties.isAlphabetic || scalar.properties.numericType != nil }
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
      .spacingMark, .decimalNumber:
      return true
    default: return false
    }
  }

  private static func isAtom(_ scalar: Unicode.Scalar) -> Bool {
    let isMark = "!#$%&'*+-/=?^_`{|}~".unicodeScalars.contains(scalar)
    return isMark || isWordly(scalar)
  }
}

/// A mail from the server. It contains only the server's own text, so that strangers cannot put theirs into mails to others.
public struct Mail: Sendable, CustomStringConvertible, CustomReflectable {
  public let from: Mailbox
  public let to: Mailbox
  /// One line.
  public let subject: String
  /// Lines of plain text. May contain a one-time token.
  public let text: Secret
  /// Unique, for `Message-ID`.
  public let id: String
  public let sentAt: UnixTime

  public init(from: Mailbox, to: Mailbox, subject: String, text: Secret, id: String, sentAt: UnixTime) {
    self.from = from
    self.to = to
    self.subject = subject
    self.text = text
    self.id = id
    self.sentAt = sentAt
  }

  /// Only the subject, without address and text.
  public var description: String { "mail: \(subject)" }
  public var customMirror: Mirror { Mirror(self, children: ["subject": "\(subject)"]) }
}

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
