#if Server
import HandstampCore
import HandstampRegistry

/// The words of the server's mails, in the languages of the pages. Each begins with the name of the service, and has at most one link: the
/// one to press.
struct MailWriter: Sendable {
  let configuration: ServerConfiguration
  let pages: PageWriter
  private var issuer: String { pages.issuer }

  /// - Throws: ``MailError/badAddress`` if mail cannot be sent to the address.
  func mail(_ letter: Letter, at time: UnixTime) throws(MailError) -> Mail {
    guard let from = Mailbox(configuration.sender), let to = Mailbox(letter.to) else { throw .badAddress }
    let id = String(UInt64.random(in: 0 ... .max), radix: 36) + String(UInt64.random(in: 0 ... .max), radix: 36)
    let draft = Draft(pages: pages, language: LanguageChoice.best(letter.language, of: pages.library.languages))
    let (name, text) = words(letter.content, draft)
    return Mail(
      from: from, to: to, subject: "\(pages.siteName): \(draft.words("\(name).subject"))",
      text: text.withExposed { Secret("\(pages.siteName)\n\n" + $0) }, id: id, sentAt: time)
  }

  /// A mail in its language.
  private struct Draft {
    let pages: PageWriter
    let language: String

    func words(_ key: String, _ values: PageContext = [:]) -> String {
      pages.text(PageText("mail." + key, values), in: language)
    }
  }

  /// Returns the name of a mail's texts, and its text.
  private func words(_ content: Letter.Content, _ draft: Draft) -> (String, Secret) {
    switch content {
    case .reset(let token): ("reset", text("reset", token, life: "half_hour", draft))
    case .confirmation(let token): ("confirm", text("confirm", token, life: "day", draft))
    case .emailChange(let token): ("email", text("email", token, life: "day", draft))
    case .ownerProof(let token, isRecovery: false): ("owner", text("owner", token, life: "half_hour", draft))
    case .ownerProof(let token, isRecovery: true): ("recover", text("recover", token, life: "half_hour", draft))
    case .invitation(let token): ("invite", text("invite", token, life: "day", draft))
    case .emailChanged(let email):
      ("email_changed", Secret(draft.words("email_changed.text", ["to": .text(MailWriter.masked(email))])))
    case .known: ("known", Secret(draft.words("known.text")))
    case .test: ("test", Secret(draft.words("test.text")))
    case .notice(let notice, let noticed, let time): text(notice, noticed, at: time, draft)
    }
  }

  private func text(
    _ notice: AccountNotice, _ noticed: NoticedName, at time: UnixTime, _ draft: Draft
  ) -> (String, Secret) {
    let devicesLink = configuration.mail.devicesLink ?? issuer + "/account/devices"
    let name = notice.rawValue.replacing("-", with: "_")
    let (text, remedy, link): (String, String, String) =
      switch notice {
      case .newDevice, .sessionsEnded: (name, "unless_you_devices", devicesLink)
      case .emailChange: (name, "unless_you_ways", issuer + "/account/email")
      case .passwordChanged: (name, "unless_you_password", issuer + "/forgot-password")
      case .tokenTheft: (name, "after_theft", devicesLink)
      // The other ways into an account than the password.
      case .passkeyAdded, .passkeyRemoved, .totpAdded, .totpRemoved, .identityLinked, .identityUnlinked,
        .recoveryCodesMade, .recoveryCodeUsed:
        ("notice", "unless_you_ways", issuer + "/account/security")
      }
    let device = pages.deviceName(noticed.text, client: noticed.client, in: draft.language)
    let values: PageContext = [
      "subject": .text(draft.words("\(name).subject")),
      "device": .text(
        ifPresent: MailWriter.quoted(device).map { quoted in
          noticed.client.map { pages.appName($0, named: quoted, in: draft.language) } ?? quoted
        }),
      "at": PageDates(pages: pages, language: draft.language, now: time).minute(time),
    ]
    return (name, Secret("\(draft.words("\(text).text", values))\n\n\(draft.words(remedy))\n\(link)"))
  }

  /// An address that its owner recognizes, and others cannot use.
  static func masked(_ email: String) -> String {
    let parts = email.split(separator: "@", maxSplits: 1)
    guard parts.count == 2 else { return "another one" }
    return parts[0].prefix(1) + "…@" + parts[1]
  }

  /// The name of a device, which may be a stranger's choice: a few words without anything that a mail program makes a link or
  /// a number to call of. `nil` if nothing is left.
  static func quoted(_ name: String) -> String? {
    var words = name.split { !($0.isLetter || $0.isNumber || "'’-()".contains($0)) }
    if words.joined().count(where: \.isNumber) > 6 { words.removeAll { $0.contains(where: \.isNumber) } }
    let text = words.joined(separator: " ").prefix(40)
    return text.isEmpty ? nil : "“\(text)”"
  }

  private func text(_ name: String, _ token: OneTimeToken, life: String, _ draft: Draft) -> Secret {
    token.secret.withExposed { code in
      Secret(
        """
        \(draft.words("\(name).text"))
        \(draft.words("open", ["life": .text(draft.words(life))]))

        \(address(name, code))

        \(draft.words("code"))

        \(code)

        \(draft.words("ignore"))
        """)
    }
  }

  /// Where a link leads: to the operator's page, or to the server's own.
  private func address(_ action: String, _ code: String) -> String {
    switch (action, configuration.mail.link) {
    case ("email", _): issuer + "/account/email/confirm?token=" + code
    case ("owner", _): issuer + "/account/confirm?token=" + code
    case ("recover", _): issuer + "/recover?token=" + code
    case (_, let link?):
      link.replacing("{action}", with: action == "invite" ? "reset" : action).replacing("{token}", with: code)
    case ("reset", nil), ("invite", nil): issuer + "/reset-password?token=" + code
    case (_, nil): issuer + "/sign-up/confirm?token=" + code
    }
  }
}
#endif
