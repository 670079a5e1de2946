#if Server
import CHandstampLibraries
import Foundation
public import HandstampCore
import HandstampSupport

/// Sends mails to a mail server by SMTP (RFC 5321), with libcurl, which is looked for when the first mail is sent.
public struct SMTPMailer: Mailer {
  /// How the connection is protected.
  public enum Security: Sendable, Hashable {
    /// By TLS from its first byte: `smtps:`.
    case tls
    /// By TLS before anything else is sent (RFC 3207): `smtp:`.
    case startTLS
    /// Not at all.
    case none
  }

  public let host: String
  public let port: Int
  public let security: Security
  public let user: String?
  let password: Secret?
  /// A file of certificates to trust; `nil` trusts those of the system.
  public let certificates: String?
  /// How long a mail may take. Default 60 s.
  public let limit: Duration

  /// - Parameters:
  ///   - url: `smtp://host` or `smtps://host`, with a port if it is not 587 or 465.
  ///   - password: for `user`, `nil` if the server asks for none.
  ///   - allowsCleartext: whether `smtp` does without TLS. To another machine, no password is sent that way.
  public init(
    url: String, user: String? = nil, password: Secret? = nil, certificates: String? = nil,
    allowsCleartext: Bool = false, limit: Duration = .seconds(60)
  ) throws(ServerConfigurationError) {
    guard let parts = URLComponents(string: url), let host = parts.host, !host.isEmpty,
      host.utf8.allSatisfy({ $0.isAlphanumeric || "-.:[]".utf8.contains($0) }),
      ["", "/"].contains(parts.path), parts.query == nil, parts.fragment == nil
    else { throw .mailServerURL }
    guard parts.user == nil, parts.password == nil else { throw .mailServerURLWithUser }
    switch parts.scheme {
    case "smtps": (port, security) = (parts.port ?? 465, .tls)
    case "smtp": (port, security) = (parts.port ?? 587, allowsCleartext ? .none : .startTLS)
    default: throw .mailServerURL
    }
    guard (1...65535).contains(port) else { throw .mailServerURL }
    guard password == nil || security != .none || Loopback.contains(host: host) else { throw .mailPasswordInClear }
    self.host = host
    self.user = user
    self.password = password
    self.certificates = certificates
    self.limit = limit
  }

  @concurrent public func send(_ mail: Mail) async throws(MailError) {
    let isCancelled = Locked(false)
    let outcome = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // A thread of its own, which may block.
        Thread.detachNewThread { continuation.resume(returning: self.perform(mail, isCancelled)) }
      }
    } onCancel: {
      isCancelled.withLock { $0 = true }
    }
    try check(outcome)
  }

  private func perform(_ mail: Mail, _ isCancelled: Locked<Bool>) -> HSMailOutcome {
    let name = mail.from.address.split(separator: "@").last.flatMap { $0.allSatisfy(\.isASCII) ? $0 : nil }
    let url = "\(security == .tls ? "smtps" : "smtp")://\(host):\(port)/\(name ?? "localhost")"
    var request = HSMail()
    request.requires_tls = security == .none ? 0 : 1
    request.needs_utf8 = (mail.from.address + mail.to.address).utf8.allSatisfy { $0 < 128 } ? 0 : 1
    request.connect_milliseconds = Int(clamping: min(limit, .seconds(20)).wholeMilliseconds)
    request.milliseconds = Int(clamping: limit.wholeMilliseconds)
    request.is_cancelled = { context in
      guard let context else { return 0 }
      return Unmanaged<Locked<Bool>>.fromOpaque(context).takeUnretainedValue().withLock { $0 } ? 1 : 0
    }
    var outcome = HSMailOutcome()
    withExtendedLifetime(isCancelled) {
      request.context = UnsafeRawPointer(Unmanaged.passUnretained(isCancelled).toOpaque())
      let password = password?.withExposed { $0 }
      withTexts([url, user, password, certificates, mail.from.address, mail.to.address]) { texts in
        request.url = texts[0]
        (request.user, request.password, request.ca_file) = (texts[1], texts[2], texts[3])
        (request.from, request.to) = (texts[4], texts[5])
        mail.message(.crlf).withExposedBytes { bytes in
          request.text = bytes.bindMemory(to: CChar.self).baseAddress
          request.count = bytes.count
          handstamp_curl_send(&request, &outcome)
        }
      }
    }
    return outcome
  }

  private func check(_ outcome: HSMailOutcome) throws(MailError) {
    switch outcome.end {
    case HSMailSent: return
    case HSMailNoLibrary: throw .unavailable("libcurl is not installed")
    case HSMailTimedOut: throw .timedOut
    case HSMailNoUTF8: throw .needsSMTPUTF8
    case HSMailRefused: throw .rejected(code: outcome.reply)
    default:
      let words = withUnsafeBytes(of: outcome.words) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      throw .unavailable("SMTP at \(host):\(port): \(words)" + (outcome.reply > 0 ? " (\(outcome.reply))" : ""))
    }
  }
}

/// Calls `body` with the texts, each ending in a null byte.
private func withTexts(_ texts: [String?], _ body: ([UnsafePointer<CChar>?]) -> Void) {
  func next(_ rest: ArraySlice<String?>, _ pointers: [UnsafePointer<CChar>?]) {
    guard let text = rest.first else { return body(pointers) }
    guard let text else { return next(rest.dropFirst(), pointers + [nil]) }
    text.withCString { next(rest.dropFirst(), pointers + [$0]) }
  }
  next(texts[...], [])
}
#endif
