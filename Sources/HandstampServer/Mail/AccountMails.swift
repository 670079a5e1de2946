#if Server
import HandstampCore
import HandstampRegistry
import Logging

/// The kinds of mail that the server sends.
enum MailKind: String, CaseIterable {
  case reset, confirm, known

  var subject: StaticString {
    switch self {
    case .reset: "Set a new password"
    case .confirm: "Confirm your email address"
    case .known: "You already have an account"
    }
  }

  /// The value of `{action}` in the operator's link.
  var action: String {
    switch self {
    case .reset: "reset"
    case .confirm, .known: "confirm"
    }
  }
}

/// Writes the mails about accounts and hands them over, after the response to their request.
struct AccountMails: Sendable {
  /// `nil` if mail is not set up.
  let mailer: (any Mailer)?
  let desk: MailDesk
  let clock: ServerClock
  let metrics: ServerMetrics
  let errors: ErrorMapper
  let sender: String
  /// The operator's template for links.
  let link: String?
  let issuer: String
  let logger: Logger

  /// Queues a job to run after the response, with the time of the request, unless this address got a mail of this kind a moment
  /// ago. Failures are logged for the operator and not reported to the client.
  ///
  /// - Throws: ``Problem`` if the queue is full, or the server has no mailer.
  func later(
    _ kind: String, to email: EmailAddress, logger: Logger, _ job: @escaping @Sendable (UnixTime) async throws -> Void
  ) throws(Problem) {
    guard mailer != nil else { throw .notOffered("Mail is not set up on this server") }
    let now = clock.now
    let isQueued = desk.add { [desk, errors] in
      guard desk.mayWrite(kind, to: email, now: now) else { return }
      do { try await job(now) } catch { _ = errors.problem(for: error, logger: logger) }
    }
    guard isQueued else { throw .busy }
  }

  /// Sends a mail. Failures are logged for the operator.
  func send(_ kind: MailKind, to email: EmailAddress, _ token: OneTimeToken?) async {
    guard let mailer, let from = Mailbox(sender), let to = Mailbox(email) else {
      metrics.update { $0.mailsFailed += 1 }
      logger.error("Mail has no usable address", metadata: ["handstamp.mail": "\(kind)"])
      return
    }
    let id = String(UInt64.random(in: 0 ... .max), radix: 36) + String(UInt64.random(in: 0 ... .max), radix: 36)
    let mail = Mail(
      from: from, to: to, subject: kind.subject, text: text(kind, token), id: id, sentAt: clock.read().wall)
    do throws(MailFault) {
      try await mailer.send(mail)
      metrics.update { $0.mailsSent += 1 }
    } catch {
      metrics.update { $0.mailsFailed += 1 }
      logger.error(
        "Mail could not be handed over", metadata: ["handstamp.mail": "\(kind)", "handstamp.cause": "\(error)"])
    }
  }

  private func text(_ kind: MailKind, _ token: OneTimeToken?) -> Secret {
    guard let token else {
      return Secret(
        """
        Someone, probably you, tried to create an account at \(issuer) with this email address.
        You already have an account: sign in with it, or request a new password.

        If this wasn't you, you can ignore this mail.
        """)
    }
    let (purpose, life) =
      switch kind {
      case .reset: ("set a new password", "30 minutes")
      case .confirm, .known: ("confirm this email address and sign in", "24 hours")
      }
    return token.secret.withExposed { code in
      let address = link.map { template in
        "Open this link. It works once and expires in \(life):\n\n"
          + template.replacing("{action}", with: kind.action).replacing("{token}", with: code)
          + "\n\nOr enter this code in the app:\n\n"
      }
      return Secret(
        """
        Someone, probably you, asked \(issuer) to \(purpose).
        \(address ?? "Enter this code in the app. It works once and expires in \(life):\n\n")\(code)

        If this wasn't you, you can ignore this mail; nothing will change. Don't share this code with anyone.
        """)
    }
  }
}
#endif
