#if Operator
import ArgumentParser
import HandstampCommandLine
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

      to remove them all, and end its sessions:
      handstamp-server admin accounts take-back ACCOUNT
      """)

  @OptionGroup var named: NamedAccount
  @Flag(help: "remove the app whose codes the password needs") var removeAuthenticatorApp = false
  @OptionGroup var options: AdminOptions
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let (id, credentials) = try await options.administering(named) { administration, account in
      if removeAuthenticatorApp { _ = try await administration.removeTOTP(of: account.id) }
      return (account.id, try await administration.credentials(of: account.id))
    }
    if output.json { return Terminal.out(json: credentials.object(of: id)) }
    func row(_ kind: String, _ name: String = "-", since: UnixTime? = nil, used: UnixTime? = nil) -> [String] {
      [kind, name, since?.description ?? "-", used?.description ?? "-"]
    }
    var rows = [["WAY IN", "NAME", "SINCE", "LAST USED"]]
    if credentials.hasPassword { rows.append(row("password", since: credentials.passwordChangedAt)) }
    rows += credentials.identities.map {
      row("other provider", "\($0.identity.issuer) \($0.label)", since: $0.createdAt, used: $0.lastUsedAt)
    }
    rows += credentials.passkeys.map { row("passkey", $0.name, since: $0.createdAt, used: $0.lastUsedAt) }
    if let app = credentials.totp { rows.append(row("authenticator app", since: app.createdAt, used: app.lastUsedAt)) }
    if credentials.recoveryCodes > 0 { rows.append(row("recovery codes", "\(credentials.recoveryCodes) left")) }
    rows += credentials.consents.map { row("application", $0.client, since: $0.givenAt) }
    if let pending = credentials.pendingEmail { rows.append(row("new address", pending.email.typed)) }
    Table(rows: rows).write()
  }
}

extension Credentials {
  /// For programs.
  fileprivate func object(of account: AccountID) -> JSONObject {
    [
      "account": account.rawValue, "hasPassword": hasPassword, "passwordChangedAt": passwordChangedAt?.description,
      // That of the first of the identities.
      "identityIssuer": identities.first?.identity.issuer,
      "identities": identities.objects([
        Column("issuer", \.identity.issuer), Column("label", \.label), Column("createdAt", \.createdAt.description),
        Column("lastUsedAt", \.lastUsedAt?.description),
      ]),
      "passkeys": passkeys.objects([
        Column("id", \.id), Column("name", \.name), Column("createdAt", \.createdAt.description),
        Column("lastUsedAt", \.lastUsedAt?.description),
      ]),
      "recoveryCodes": recoveryCodes,
      // When the app was added whose codes the password needs.
      "authenticatorApp": totp?.createdAt.description,
      "consents": consents.objects([
        Column("client", \.client), Column("scopes", \.scopes), Column("givenAt", \.givenAt.description),
      ]),
      // The address that the account gets once a mail to it is answered.
      "pendingEmail": pendingEmail?.email.typed,
    ]
  }
}
#endif
