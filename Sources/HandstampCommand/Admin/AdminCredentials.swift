#if Command
import ArgumentParser
import HandstampCore
import HandstampRegistry
import HandstampServer

/// `handstamp admin credentials`.
struct AdminCredentials: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "credentials", abstract: "list the ways into an account",
    discussion: "to remove them all, and end its sessions: handstamp admin accounts take-back ACCOUNT")

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

extension AdminAccounts {
  /// `handstamp admin accounts take-back`.
  struct TakeBack: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "take-back", abstract: "remove every way into an account, and print a code for its owner",
      discussion: """
        for an owner whose account a stranger uses: ends its sessions, removes its password, passkeys, recovery codes, consents and
        known devices, and voids links and codes that wait to be used; the code sets a new password, once, within 30 minutes
        """)

    @OptionGroup var named: NamedAccount
    @Option(help: "the owner's address, if the stranger has changed it") var email: String?
    @OptionGroup var link: LinkOptions
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    struct Answer: Document {
      var schemaVersion = 1
      var account: String
      var ended: Int
      var reset: CodeItem
    }

    func run() async throws {
      let (id, taken) = try await options.administering(link: link.mailLink) {
        administration throws(AdministrationError) in
        let id = try await administration.account(named: named).id
        return (id, try await administration.takeBack(id, email: email))
      }
      if output.json {
        return Answer(account: id.rawValue, ended: taken.ended, reset: CodeItem(taken.code)).writeLine()
      }
      for line in Table(rows: [["sessions ended", "\(taken.ended)"]] + taken.code.rows).lines { Terminal.out(line) }
    }
  }
}

extension AdminClients {
  /// `handstamp admin clients remove`.
  struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove", abstract: "remove a client from the file, and end its sessions",
      discussion: """
        until a running server is reloaded (kill -HUP), it still knows the client, whose users may sign in to it; run the command
        again after that; a client that is no longer in the file can be named, too
        """)

    @Argument(help: "client ID") var id: String
    @OptionGroup var file: FileOptions
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    struct Answer: Document {
      var schemaVersion = 1
      var id: String
      /// Whether it was in the file.
      var removed: Bool
      var ended: Int
    }

    func run() async throws {
      // First, so that nothing is changed if the store cannot be.
      let ended = try await options.administering { administration throws(AdministrationError) in
        try await administration.endSessions(ofClient: id)
      }
      let isRemoved = try file.change { entries in
        let left = entries.filter { $0["id"] as? String != id }
        defer { entries = left }
        return left.count < entries.count
      }
      guard isRemoved || ended > 0 else {
        throw Refusal(
          .failure, "\(try file.path()) has no client \(id), and none has sessions by that ID",
          hint: "list them: handstamp admin clients list")
      }
      if output.json { return Answer(id: id, removed: isRemoved, ended: ended).writeLine() }
      Terminal.out("\(isRemoved ? "removed" : "not in the file"), sessions ended: \(ended)")
      if isRemoved { Terminal.say("a running server forgets the client after: kill -HUP PID") }
    }
  }
}
#endif
