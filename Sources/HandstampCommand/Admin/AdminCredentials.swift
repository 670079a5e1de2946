#if Command
import ArgumentParser
import HandstampCore
import HandstampRegistry
import HandstampServer

/// `handstamp admin credentials`.
struct AdminCredentials: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "credentials", abstract: "list the ways into an account",
    discussion: """
      to remove them all, and end its sessions: handstamp admin accounts take-back
      ACCOUNT
      """)

  @OptionGroup var named: NamedAccount
  @OptionGroup var options: AdminOptions
  @OptionGroup var output: OutputOptions

  struct Answer: Document {
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
    var schemaVersion = 1
    var account: String
    var hasPassword: Bool
    var passwordChangedAt: String?
    var identityIssuer: String?
    var passkeys: [Passkey]
    var recoveryCodes: Int
    var consents: [App]
    /// The address that the account gets once a mail to it is answered.
    var pendingEmail: String?
  }

  func run() async throws {
    let (id, credentials) = try await options.administering { administration throws(AdministrationError) in
      let id = try await administration.account(named: named).id
      return (id, try await administration.credentials(of: id))
    }
    let answer = Answer(id, credentials)
    if output.json { return answer.writeLine() }
    var rows = [["WAY IN", "NAME", "SINCE", "LAST USED"]]
    if answer.hasPassword { rows.append(["password", "-", answer.passwordChangedAt ?? "-", "-"]) }
    if let issuer = answer.identityIssuer { rows.append(["other provider", issuer, "-", "-"]) }
    rows += answer.passkeys.map { ["passkey", $0.name, $0.createdAt, $0.lastUsedAt ?? "-"] }
    if answer.recoveryCodes > 0 { rows.append(["recovery codes", "\(answer.recoveryCodes) left", "-", "-"]) }
    rows += answer.consents.map { ["application", $0.client, $0.givenAt, "-"] }
    if let email = answer.pendingEmail { rows.append(["new address", email, "-", "-"]) }
    for line in Table(rows: rows).lines { Terminal.out(line) }
  }
}

extension AdminCredentials.Answer {
  init(_ id: AccountID, _ credentials: Credentials) {
    account = id.rawValue
    hasPassword = credentials.hasPassword
    passwordChangedAt = credentials.passwordChangedAt?.description
    identityIssuer = credentials.identity?.issuer
    passkeys = credentials.passkeys.map {
      Passkey(
        id: $0.id, name: $0.name, createdAt: $0.createdAt.description, lastUsedAt: $0.lastUsedAt?.description)
    }
    recoveryCodes = credentials.recoveryCodes
    consents = credentials.consents.map {
      App(client: $0.client, scopes: $0.scopes, givenAt: $0.givenAt.description)
    }
    pendingEmail = credentials.pendingEmail?.email.typed
  }
}
#endif
