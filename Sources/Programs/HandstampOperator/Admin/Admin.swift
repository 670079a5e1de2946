#if Operator
import ArgumentParser
import HandstampCommandLine
import HandstampRegistry
import HandstampServer

struct Admin: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "admin", abstract: "administer a server's accounts, sessions, keys and database",
    discussion: """
      works on the data folder or the database of handstamp-server serve, while
      the server runs or not; it notices the changes, except to keys

      every change is in the audit log, with the user who made it; an account is
      named by its ID or its email address
      """,
    subcommands: [
      AdminAccounts.self, AdminCredentials.self, AdminSessions.self, AdminClients.self, AdminProviders.self,
      AdminWebhooks.self, AdminMail.self, AdminKeys.self, AdminDatabase.self, AdminCopy.self, AdminImport.self,
      AdminExport.self, AdminAudit.self, AdminStats.self,
    ])
}

struct AdminStats: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "stats", abstract: "count accounts, sessions and so on")

  @OptionGroup var options: AdminOptions
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let counts = try await options.administering { try await $0.counts() }
    let columns: [Column<RegistryCounts>] = [
      Column("accounts", as: "accounts", \.accounts),
      Column("guests", as: "of these guests", \.guests),
      Column("liveSessions", as: "live sessions", \.liveSessions),
      Column("endedSessions", as: "ended sessions", \.endedSessions),
      Column("oneTimeTokens", as: "unused codes and links", \.oneTimeTokens),
      Column("facts", as: "consents, passkeys and other records", \.items),
      Column("events", as: "events", \.events),
      Column("auditedActions", as: "audited actions", \.auditedActions),
    ]
    if output.json { return Terminal.out(json: JSONObject(counts, columns)) }
    Table(rows: columns.map { [$0.heading ?? "", $0.text(counts)] }).write()
  }
}
#endif
