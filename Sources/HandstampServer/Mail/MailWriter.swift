#if Server
import HandstampCore
import HandstampRegistry

/// The words of the server's mails.
struct MailWriter: Sendable {
  let sender: String
  /// The operator's template for links.
  let link: String?
  let issuer: String

  /// - Throws: ``MailFault/badAddress`` if mail cannot be sent to the address.
  func mail(_ letter: Letter, at time: UnixTime) throws(MailFault) -> Mail {
    guard let from = Mailbox(sender), let to = Mailbox(letter.to) else { throw .badAddress }
    let id = String(UInt64.random(in: 0 ... .max), radix: 36) + String(UInt64.random(in: 0 ... .max), radix: 36)
    let (subject, text) = words(letter.content)
    return Mail(from: from, to: to, subject: subject, text: text, id: id, sentAt: time)
  }

  private func words(_ content: Letter.Content) -> (StaticString, Secret) {
    switch content {
    case .reset(let token):
      ("Set a new password", text("set a new password", token, action: "reset", life: "30 minutes"))
    case .confirmation(let token):
      (
        "Confirm your email address",
        text("create an account with this email address", token, action: "confirm", life: "24 hours")
      )
    case .known:
      (
        "You already have an account",
        Secret(
          """
          Someone, probably you, tried to create an account at \(issuer) with this email address.
          You already have an account: sign in with it, or request a new password.

          If this wasn't you, you can ignore this mail.
          """)
      )
    }
  }

  private func text(_ purpose: String, _ token: OneTimeToken, action: String, life: String) -> Secret {
    token.secret.withExposed { code in
      let address = link.map { template in
        "Open this link. It works once and expires in \(life):\n\n"
          + template.replacing("{action}", with: action).replacing("{token}", with: code)
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
