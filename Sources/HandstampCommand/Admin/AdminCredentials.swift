#if Command
import ArgumentParser
import HandstampCore
import HandstampRegistry
import HandstampServer

struct AdminCredentials: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "credentials", abstract: "list the ways into an account",
    discussion: """
      --remove-authenticator-app is for an owner who has lost the device and the
      recovery codes: make sure that it is the owner who asks, as the password is
      then enough

      to remove them all, and end its sessions: handstamp admin accounts take-back
      ACCOUNT
      """)

  @OptionGroup var named: NamedAccount
  @Flag(help: "remove the app whose codes the password needs") var removeAuthenticatorApp = false
  @OptionGroup var options: AdminOptions
  @OptionGroup var output: OutputOptions

  struct Answer: Document {
    struct Identity: Encodable {
      var issuer: String
      var label: String
      var createdAt: String
      var lastUsedAt: String?
    }
    struct Passkey: Encodable {
      var id: String
      var name: String
      var createdAt: String
      var lastUsedAt: String?
    }
    struct App: Encodable {
      var client: String
      var scopes: [String]
      var givenAt: String
    }
    var account: String
    var hasPassword: Bool
    var passwordChangedAt: String?
    /// That of the first of the identities.
    var identityIssuer: String?
    var identities: [Identity]
    var passkeys: [Passkey]
    var recoveryCodes: Int
    /// The app whose codes the password needs: when it was added; `nil` without one.
    var authenticatorApp: String?
    var consents: [App]
    /// The address that the account gets once a mail to it is answered.
    var pendingEmail: String?
  }

  func run() async throws {
    let (id, credentials) = try await options.administering { administration in
      let id = try await administration.account(named: named).id
      if removeAuthenticatorApp { _ = try await administration.removeTOTP(of: id) }
      return (id, try await administration.credentials(of: id))
    }
    let answer = Answer(id, credentials)
    if output.json { return answer.writeLine() }
    var rows = [["WAY IN", "NAME", "SINCE", "LAST USED"]]
    if answer.hasPassword { rows.append(["password", "-", answer.passwordChangedAt ?? "-", "-"]) }
    rows += answer.identities.map {
      ["other provider", "\($0.issuer) \($0.label)", $0.createdAt, $0.lastUsedAt ?? "-"]
    }
    rows += answer.passkeys.map { ["passkey", $0.name, $0.createdAt, $0.lastUsedAt ?? "-"] }
    if let app = credentials.totp {
      rows.append(["authenticator app", "-", "\(app.createdAt)", app.lastUsedAt.map { "\($0)" } ?? "-"])
    }
    if answer.recoveryCodes > 0 { rows.append(["recovery codes", "\(answer.recoveryCodes) left", "-", "-"]) }
    rows += answer.consents.map { ["application", $0.client, $0.givenAt, "-"] }
    if let email = answer.pendingEmail { rows.append(["new address", email, "-", "-"]) }
    Table(rows: rows).write()
  }
}

extension AdminCredentials.Answer {
  init(_ id: AccountID, _ credentials: Credentials) {
    account = id.rawValue
    hasPassword = credentials.hasPassword
    passwordChangedAt = credentials.passwordChangedAt?.description
    identityIssuer = credentials.identities.first?.identity.issuer
    identities = credentials.identities.map {
      Identity(
        issuer: $0.identity.issuer, label: $0.label, createdAt: $0.createdAt.description,
        lastUsedAt: $0.lastUsedAt?.description)
    }
    passkeys = credentials.passkeys.map {
      Passkey(
        id: $0.id, name: $0.name, createdAt: $0.createdAt.description, lastUsedAt: $0.lastUsedAt?.description)
    }
    recoveryCodes = credentials.recoveryCodes
    authenticatorApp = credentials.totp?.createdAt.description
    consents = credentials.consents.map {
      App(client: $0.client, scopes: $0.scopes, givenAt: $0.givenAt.description)
    }
    pendingEmail = credentials.pendingEmail?.email.typed
  }
}
#endif
