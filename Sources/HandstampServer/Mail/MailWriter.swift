#if Server
import HandstampCore
import HandstampRegistry

/// The words of the server's mails.
struct MailWriter: Sendable {
  let sender: String
  /// The operator's template for links.
  let link: String?
  let issuer: String
  /// Where users see their devices.
  let devicesLink: String

  init(_ configuration: ServerConfiguration) {
    sender = configuration.sender
    link = configuration.mail.link
    issuer = configuration.issuer
    devicesLink = configuration.mail.devicesLink ?? configuration.issuer + "/account/devices"
  }

  /// - Throws: ``MailError/badAddress`` if mail cannot be sent to the address.
  func mail(_ letter: Letter, at time: UnixTime) throws(MailError) -> Mail {
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
    case .emailChange(let token):
      (
        "Confirm your new email address",
        text("change the address of your account to this one", token, action: "email", life: "24 hours")
      )
    case .ownerProof(let token, let isRecovery):
      (
        "Confirm that it's you",
        text(
          isRecovery ? "sign in to your account with a recovery code" : "confirm that you own your account", token,
          action: isRecovery ? "recover" : "owner", life: "30 minutes")
      )
    case .emailChanged(let email):
      (
        "Your email address was changed",
        Secret(
          """
          The address of your account at \(issuer) is now \(MailWriter.masked(email)) instead of this one.

          If this wasn't you, write to the people who run \(issuer).
          """)
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
    case .notice(let notice, let device, let time):
      words(notice, MailWriter.quoted(device), "\(time.httpDate) UTC")
    }
  }

  private func words(_ notice: AccountNotice, _ device: String?, _ time: String) -> (StaticString, Secret) {
    switch notice {
    case .newDevice:
      (
        "New sign-in to your account",
        Secret(
          """
          There was a new sign-in to your account at \(issuer), on \(time). The device or app has not been used with your \
          account lately, or was signed out from elsewhere.\(device.map { " It calls itself \($0)." } ?? "")

          If this was you, you don't need to do anything. If it wasn't, end that session and change your password:
          \(devicesLink)
          """)
      )
    case .sessionsEnded:
      (
        "Devices were signed out of your account",
        Secret(
          """
          Devices or apps were signed out of your account at \(issuer) from another device, on \(time).\(device.map { " One calls itself \($0)." } ?? "")

          If this was you, you don't need to do anything. If it wasn't, end the sessions that you don't know, and change your \
          password:
          \(devicesLink)
          """)
      )
    case .passwordChanged:
      (
        "Your password was changed",
        Secret(
          """
          The password of your account at \(issuer) was changed \
          \(device.map { "on the device that calls itself \($0)" } ?? "with a code from a mail or from an administrator"), on \(time).

          If this was you, you don't need to do anything. If it wasn't, request a new password in the app, which signs out
          every device. These are signed in now:
          \(devicesLink)
          """)
      )
    case .passkeyAdded:
      ("A passkey was added to your account", changed("A passkey\(called(device)) was added to", "remove it", time))
    case .passkeyRemoved:
      (
        "A passkey was removed from your account",
        changed("A passkey\(called(device)) was removed from", "see what is left", time)
      )
    case .totpAdded:
      (
        "An authenticator app was added to your account",
        changed("An authenticator app was added to", "remove it, or ask the people who run it to", time)
      )
    case .totpRemoved:
      (
        "The authenticator app was removed from your account",
        changed("The authenticator app was removed from", "set one up again", time)
      )
    case .identityLinked:
      (
        "A sign-in elsewhere was linked to your account",
        changed("A sign-in elsewhere\(called(device)) was linked to", "remove it", time)
      )
    case .identityUnlinked:
      (
        "A sign-in elsewhere was removed from your account",
        changed("A sign-in elsewhere\(called(device)) was removed from", "see what is left", time)
      )
    case .recoveryCodesMade:
      (
        "Your account has new recovery codes",
        changed("New recovery codes were made for", "make new ones, which replace them", time)
      )
    case .recoveryCodeUsed:
      (
        "A recovery code was used",
        changed("One of your recovery codes was used to sign in to", "make new ones, which replace the others", time)
      )
    case .emailChange:
      (
        "A new email address was requested",
        Secret(
          """
          Someone, probably you, asked \(issuer) on \(time) to change the address of your account. We sent a link to the new
          address. Your address changes when that link is followed.

          If this was you, follow that link. If it wasn't, sign in, keep your address, and change your password:
          \(devicesLink)
          """)
      )
    case .tokenTheft:
      (
        "A session of your account was ended",
        Secret(
          """
          A refresh token or a sign-in code of your session at \(issuer) on \(device.map { "the device that calls itself \($0)" } ?? "one of your devices") \
          was used twice. We ended that session on \(time). Sign in again on that device.

          The reason can be a device that was restored from a backup, or a request that the network delivered twice. But a
          program may have copied the session. Check the device for such programs, then change your password. These devices
          are signed in now:
          \(devicesLink)
          """)
      )
    }
  }

  private func called(_ name: String?) -> String { name.map { " that is called \($0)" } ?? "" }

  /// A mail about the other ways into an account than the password.
  private func changed(_ what: String, _ remedy: String, _ time: String) -> Secret {
    Secret(
      """
      \(what) your account at \(issuer), on \(time).

      If this was you, you don't need to do anything. If it wasn't, sign in and \(remedy):
      \(issuer)/account/security

      Then change your password, and sign out the devices that you don't know:
      \(devicesLink)
      """)
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

  private func text(_ purpose: String, _ token: OneTimeToken, action: String, life: String) -> Secret {
    token.secret.withExposed { code in
      Secret(
        """
        Someone, probably you, asked \(issuer) to \(purpose).
        Open this link. It works once and expires in \(life):

        \(address(action, code))

        Or enter this code in the app:

        \(code)

        If this wasn't you, you can ignore this mail; nothing will change. Don't share this code with anyone.
        """)
    }
  }

  /// Where a link leads: to the operator's page, or to the server's own.
  private func address(_ action: String, _ code: String) -> String {
    switch (action, link) {
    case ("email", _): issuer + "/account/email/confirm?token=" + code
    case ("owner", _): issuer + "/account/confirm?token=" + code
    case ("recover", _): issuer + "/recover?token=" + code
    case (_, let link?): link.replacing("{action}", with: action).replacing("{token}", with: code)
    case ("reset", nil): issuer + "/reset-password?token=" + code
    case (_, nil): issuer + "/sign-up/confirm?token=" + code
    }
  }
}
#endif
