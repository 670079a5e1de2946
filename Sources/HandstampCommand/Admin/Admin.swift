#if Command
import ArgumentParser
import HandstampRegistry
import HandstampServer

struct Admin: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "admin", abstract: "administer a server's accounts, sessions, keys and database",
    discussion: """
      works on the data folder or the database of handstamp serve, while the
      server runs or not; it notices the changes, except to keys

      every change is in the audit log, with the user who made it; an account is
      named by its ID or its email address
      """,
    subcommands: [
      AdminAccounts.self, AdminCredentials.self, AdminSessions.self, AdminClients.self, AdminProviders.self,
      AdminWebhooks.self, AdminKeys.self, AdminDatabase.self, AdminCopy.self, AdminImport.self, AdminExport.self,
      AdminAudit.self, AdminStats.self,
    ])
}

struct AdminStats: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "stats", abstract: "count accounts, sessions and so on")

  @OptionGroup var options: AdminOptions
  @OptionGroup var output: OutputOptions

  struct Answer: Document {
    var accounts: Int
    var guests: Int
    var liveSessions: Int
    var endedSessions: Int
    var oneTimeTokens: Int
    var facts: Int
    var events: Int
    var auditedActions: Int
  }

  func run() async throws {
    let counts = try await options.administering { try await $0.counts() }
    let answer = Answer(
      accounts: counts.accounts, guests: counts.guests, liveSessions: counts.liveSessions,
      endedSessions: counts.endedSessions, oneTimeTokens: counts.oneTimeTokens, facts: counts.items,
      events: counts.events, auditedActions: counts.auditedActions)
    if output.json { return answer.writeLine() }
    let rows = [
      ("accounts", answer.accounts), ("of these guests", answer.guests), ("live sessions", answer.liveSessions),
      ("ended sessions", answer.endedSessions), ("unused codes and links", answer.oneTimeTokens),
      ("consents, passkeys and other records", answer.facts),
      ("events", answer.events), ("audited actions", answer.auditedActions),
    ]
    Table(rows: rows.map { [$0.0, "\($0.1)"] }).write()
  }
}
#endif
