#if Server
import Crypto
import Foundation
import HandstampCore
import HandstampRegistry
import Logging

/// The mails that the server writes.
enum MailKind: String, CaseIterable {
  case reset, confirm, known

  var subject: StaticString {
    switch self {
    case .reset: "Set a new password"
    case .confirm: "Confirm your address"
    case .known: "You have an account already"
    }
  }

  /// What stands in the place of `{action}` in the operator's link.
  var action: String {
    switch self {
    case .reset: "reset"
    case .confirm, .known: "confirm"
    }
  }
}

extension SessionServer {
  /// Puts a job in line behind the answer; the problem when there are too many. Without a mailer there is no such job.
  func later(_ job: @escaping MailDesk.Job) throws(Problem) {
    guard mailer != nil else { throw .notOffered("Mail is not set up here") }
    guard desk.add(job) else { throw .busy }
  }

  /// Writes a mail. Whatever goes wrong is the operator's to see, and nobody else's.
  func write(_ kind: MailKind, to email: EmailAddress, link: LinkSecret?) async {
    guard let mailer, let from = Mailbox(configuration.sender), let to = Mailbox(email) else {
      metrics.update { $0.mailsFailed += 1 }
      configuration.logger.error("A mail has no usable address", metadata: ["handstamp.mail": "\(kind)"])
      return
    }
    let id = String(UInt64.random(in: 0 ... .max), radix: 36) + String(UInt64.random(in: 0 ... .max), radix: 36)
    let mail = Mail(
      from: from, to: to, subject: kind.subject, text: text(kind, link), id: id, sentAt: clock.read().wall)
    do throws(MailFault) {
      try await mailer.send(mail)
      metrics.update { $0.mailsSent += 1 }
    } catch {
      metrics.update { $0.mailsFailed += 1 }
      configuration.logger.error(
        "A mail was not handed over", metadata: ["handstamp.mail": "\(kind)", "handstamp.cause": "\(error)"])
    }
  }

  private func text(_ kind: MailKind, _ link: LinkSecret?) -> Secret {
    guard let link else {
      return Secret(
        """
        Somebody, probably you, wanted to open an account at \(configuration.issuer) with this address.
        It has one already: sign in with it, or ask for a new password.

        If it was not you, there is nothing to do.
        """)
    }
    let (purpose, life) =
      switch kind {
      case .reset: ("set a new password", "half an hour")
      case .confirm, .known: ("confirm this address and sign in", "a day")
      }
    return link.secret.withExposed { code in
      let address = configuration.mailLink.map { template in
        "Open this, it is good once, for \(life):\n\n"
          + template.replacing("{action}", with: kind.action).replacing("{token}", with: code)
          + "\n\nor enter this code in the app:\n\n"
      }
      return Secret(
        """
        Somebody, probably you, asked \(configuration.issuer) to \(purpose).
        \(address ?? "Enter this code in the app, it is good once, for \(life):\n\n")\(code)

        If it was not you, do nothing, and give the code to nobody: the address or the account is left as it is.
        """)
    }
  }
}
#endif
