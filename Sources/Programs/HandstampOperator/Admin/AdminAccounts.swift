#if Operator
import ArgumentParser
import HandstampCommandLine
import HandstampCore
import HandstampRegistry
import HandstampServer

struct AdminAccounts: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "accounts", abstract: "create, list, disable, enable, delete and export accounts",
    subcommands: [
      Create.self, List.self, Show.self, Disable.self, Enable.self, Delete.self, Export.self, Groups.self,
      Reset.self, TakeBack.self,
    ], defaultSubcommand: List.self)

  struct Create: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "create", abstract: "create an account, also while sign-up is closed",
      discussion: """
        prints a code, valid for a day, with which its owner sets a password; keep
        it as secret as a password, or have the server mail it with --invite
        """)

    @Argument(
      help: """
        email address; a sign-in needs no confirmation of it, and email_verified stays false until a mailed link is \
        used
        """)
    var email: String
    @Option(help: "display name (default: the address up to the @)") var name: String?
    @Flag(help: "set the password now, read from stdin or a prompt") var password = false
    @Flag(help: "have the server mail a link that sets a password and confirms the address") var invite = false
    @Option(help: "language of that mail, such as de (default: en)") var language: String?
    @OptionGroup var link: LinkOptions
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      if invite { return try await sendInvitation() }
      guard language == nil else {
        throw CommandError(.usage, "--language is for the mail of --invite", hint: "add --invite, or drop --language")
      }
      let secret = try password ? Terminal.secret("password", twice: true) : nil
      let (account, code) = try await options.administering(link: link.mailLink) { administration in
        try await administration.createAccount(email: email, username: name, password: secret)
      }
      if output.json { return Terminal.out(json: ["account": account.object, "reset": code?.object]) }
      Table(rows: [["account", account.id.rawValue]] + (code?.rows ?? [])).write()
    }

    private func sendInvitation() async throws {
      guard !password, link.mailLink == nil else {
        throw CommandError(
          .usage, "--invite cannot be combined with --password or --mail-link",
          hint: "the invited choose a password themselves; the server's --mail-link applies")
      }
      let account = try await options.administering { administration in
        try await administration.inviteAccount(email: email, username: name, in: language)
      }
      if output.json { return Terminal.out(json: ["account": account.object, "invited": true]) }
      Table(rows: [["account", account.id.rawValue], ["invited", "the server sends the mail while it runs"]]).write()
    }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "list accounts in the order of their IDs")

    @Option(help: "list those after this ID") var after: String?
    @Option(help: "how many, at most \(Administration.mostRows)") var limit = 100
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let limit = try checked(limit)
      let accounts = try await options.administering { administration in
        try await administration.accounts(after: after.map { AccountID($0) }, limit: limit)
      }
      let next = accounts.count == limit ? accounts.last?.id.rawValue : nil
      if !output.json && accounts.isEmpty { return Terminal.say("no accounts") }
      output.write("accounts", accounts, AccountRecord.columns, next: next)
    }
  }

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "show an account and its live sessions")

    @OptionGroup var named: NamedAccount
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let (account, list) = try await options.administering(named) { ($1, try await $0.listed($1.id)) }
      if output.json {
        return Terminal.out(json: ["account": account.object, "sessions": list.sessions.objects(list.columns)])
      }
      Table(rows: account.rows).write()
      Table(list.sessions, list.columns).write()
    }
  }

  struct Disable: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "disable", abstract: "disable an account and end its sessions",
      discussion: """
        its owner can neither sign in nor sign up again with the address until it is
        enabled
        """)

    @OptionGroup var named: NamedAccount
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      try await options.change(named, output, done: "disabled") { try await $0.disable($1) }
    }
  }

  struct Enable: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "enable", abstract: "let the owner of a disabled account sign in again")

    @OptionGroup var named: NamedAccount
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      try await options.change(named, output, done: "enabled") {
        try await $0.enable($1)
        return nil
      }
    }
  }

  struct Delete: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "delete", abstract: "delete an account for good, and end its sessions",
      discussion: """
        erases its address, name, password and devices; only its ID stays, which is
        never used again
        """)

    @OptionGroup var named: NamedAccount
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      try await options.change(named, output, done: "deleted") { try await $0.delete($1) }
    }
  }

  struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "export", abstract: "print everything that is stored about the owner of an account",
      discussion: """
        one JSON object: account, sessions, devices, events, audit log; no hashes
        and no tokens
        """)

    @OptionGroup var named: NamedAccount
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let document = try await options.administering(named) { try await $0.export($1.id) }
      Terminal.out(bytes: document + [10])
    }
  }

  struct Reset: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "reset", abstract: "print a code that sets a new password",
      discussion: """
        valid once, for 30 minutes; keep it as secret as a password; until it is
        used, the present password and all sessions stay valid
        """)

    @OptionGroup var named: NamedAccount
    @OptionGroup var link: LinkOptions
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let (account, code) = try await options.administering(named, link: link.mailLink) { administration, account in
        (account, try await administration.issueResetCode(of: account.id))
      }
      if output.json { return Terminal.out(json: ["account": account.object, "reset": code.object]) }
      Table(rows: code.rows).write()
    }
  }
}

struct NamedAccount: ParsableArguments {
  @Argument(help: "ID or email address of the account") var account: String
}

extension Administration {
  func account(named name: String) async throws(AdministrationError) -> AccountRecord {
    do throws(AdministrationError) { return try await account(AccountID(name)) } catch {
      // No ID that this server draws has an @; one of an app's own directory may.
      guard error == .accountNotFound, name.contains("@") else { throw error }
      return try await account(email: name)
    }
  }
}

struct LinkOptions: ParsableArguments {
  @Option(
    help: """
      template for the link with the code, as for serve, with {token} and {action} (default: the server's own page, if
      HANDSTAMP_SERVE_ISSUER is set)
      """) var mailLink: String?
}

/// Returns a number of rows that can be listed at once.
func checked(_ limit: Int) throws(CommandError) -> Int {
  guard (1...Administration.mostRows).contains(limit) else {
    throw CommandError(
      .usage, "--limit: \(limit) is not possible", hint: "use a number from 1 to \(Administration.mostRows)")
  }
  return limit
}

extension AdminAccounts {
  struct Groups: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "groups", abstract: "show an account's groups, or change them",
      discussion: """
        clients with the scope "groups" get the names in ID tokens and userinfo,
        from the next token on; the server itself attaches no rights to them
        """)

    @OptionGroup var named: NamedAccount
    @Option(help: "put the account into this group; may be repeated") var add: [String] = []
    @Option(help: "take the account out of this group; may be repeated") var remove: [String] = []
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      if let name = add.first(where: remove.contains) {
        throw CommandError(
          .usage, plain("--add \(name) and --remove \(name) contradict each other"), hint: "leave out one of them")
      }
      let (id, groups) = try await options.administering(named) { administration, account in
        let id = account.id
        guard !add.isEmpty || !remove.isEmpty else { return (id, try await administration.groups(of: id)) }
        return (id, try await administration.changeGroups(of: id) { $0 = $0.subtracting(remove).union(add) })
      }
      if output.json { return Terminal.out(json: ["account": id.rawValue, "groups": groups]) }
      guard !groups.isEmpty else { return Terminal.say("in no group") }
      for group in groups { Terminal.out(group) }
    }
  }

  struct TakeBack: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "take-back", abstract: "remove every way into an account, and print a code for its owner",
      discussion: """
        for an owner whose account a stranger uses: ends its sessions, removes its
        password, authenticator app, passkeys, recovery codes, consents and known
        devices, and voids links and codes that wait to be used; the code sets a
        new password, once, within 30 minutes
        """)

    @OptionGroup var named: NamedAccount
    @Option(help: "the owner's address, if the stranger has changed it") var email: String?
    @OptionGroup var link: LinkOptions
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let (account, changed, taken) = try await options.administering(named, link: link.mailLink) {
        let changed = try await $0.lastAddressChange(of: $1.id)
        let taken = try await $0.takeBack($1.id, email: email)
        return (try await $0.account($1.id), changed, taken)
      }
      // That to which codes are mailed.
      let address = account.email?.typed
      if output.json {
        return Terminal.out(json: [
          "account": account.id.rawValue, "ended": taken.ended, "email": address,
          "emailChangedAt": changed?.description, "reset": taken.code.object,
        ])
      }
      let rows = [["sessions ended", "\(taken.ended)"], ["address", address ?? "-"]]
      Table(rows: rows + taken.code.rows).write()
      guard let changed, email == nil else { return }
      Terminal.say(
        "warning: that address is of \(changed), and its mails lead in again; if it is not the owner's, run this"
          + " again with --email")
    }
  }
}
#endif
