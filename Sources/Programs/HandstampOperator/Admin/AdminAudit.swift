#if Operator
import ArgumentParser
import HandstampCommandLine
import HandstampCore
import HandstampRegistry
import HandstampServer

struct AdminAudit: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "show or export the server's audit log",
    discussion: """
      who did what to which account, when and from where; kept for a year, or as
      serve --audit-retention says
      """,
    subcommands: [List.self, Export.self, Hash.self])

  struct Hash: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "hash", abstract: "print what stands for an email address in the logs, as email_hash")

    @Argument(help: "email address") var email: String
    @OptionGroup var options: AdminOptions

    func run() async throws {
      Terminal.out(
        try await options.administering { try $0.pseudonym(of: email) })
    }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "print entries, oldest first")

    @Option(help: "print those after this ID") var after: Int64 = 0
    @Option(
      help: "print those about this account, by ID or email address; if no account has the address, those that name it")
    var account: String?
    @Option(help: "print those since this time, such as 2026-11-25 or 2026-11-25T09:30:00Z") var since: String?
    @Option(help: "how many, at most \(Administration.mostRows)") var limit = 100
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let limit = try checked(limit)
      let time = try since.map { text throws(CommandError) in
        guard let time = UnixTime(date: text) else {
          throw CommandError(
            .usage, "--since: \(text) is not a time", hint: "use 2026-11-25, or 2026-11-25T09:30:00Z")
        }
        return time
      }
      let entries = try await options.administering { administration in
        guard let account else {
          return try await administration.auditedActions(after: after, since: time, limit: limit)
        }
        do throws(AdministrationError) {
          let id = try await administration.account(named: account).id
          return try await administration.auditedActions(after: after, about: id, since: time, limit: limit)
        } catch {
          // The account may have another address by now.
          guard error == .accountNotFound, account.contains("@") else { throw error }
          let entries = try await administration.auditedActions(
            after: after, naming: try administration.pseudonym(of: account), since: time, limit: limit)
          guard !entries.isEmpty else { throw error }
          return entries
        }
      }
      output.write(
        "entries", entries,
        [
          Column("id", as: "ID", \.id),
          Column("at", as: "AT", \.audited.at.description),
          Column("atEpoch", \.audited.at.seconds),
          Column("action", as: "ACTION", \.audited.action),
          Column("actor", as: "BY", \.audited.actor),
          Column("account", as: "ACCOUNT", \.audited.account?.rawValue),
          Column("session", as: "SESSION", \.audited.session?.rawValue),
          Column("address", as: "FROM", \.audited.address),
          // A JSON object as text.
          Column("details", as: "DETAILS", \.audited.details),
        ], next: entries.count == limit ? entries.last?.id : nil)
    }
  }

  struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "export", abstract: "print all entries, one per line, as JSON or for a SIEM",
      discussion: "to continue later, pass the last id (in CEF, externalId) to --after")

    enum Format: String, ExpressibleByArgument, CaseIterable { case json, cef }

    @Option(help: "json, or cef: ArcSight's Common Event Format") var format = Format.json

    @Option(help: "print those after this ID") var after: Int64 = 0
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      try await options.administering { administration in
        var last = after
        while case let page = try await administration.auditedActions(after: last, limit: Administration.mostRows),
          let end = page.last
        {
          for entry in page { Terminal.out(bytes: (format == .json ? entry.jsonLine : entry.cefLine) + [10]) }
          last = end.id
        }
      }
    }
  }
}
#endif
