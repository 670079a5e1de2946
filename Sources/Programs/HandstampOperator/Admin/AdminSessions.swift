#if Operator
import ArgumentParser
import HandstampCommandLine
import HandstampCore
import HandstampRegistry
import HandstampServer

/// The live sessions of an account, with what is shown beside each.
struct ListedSessions {
  let sessions: [SessionRow]
  /// Where they began.
  let addresses: [SessionID: String]
  /// Those whose client is configured no more.
  let lacking: Set<SessionID>
}

extension Administration {
  func listed(_ id: AccountID) async throws(AdministrationError) -> ListedSessions {
    let (sessions, addresses) = (try await sessions(of: id), try await addresses(ofSessionsOf: id))
    return ListedSessions(
      sessions: sessions, addresses: addresses, lacking: Set(sessions.filter(lacksClient).map(\.id)))
  }
}

struct AdminSessions: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sessions", abstract: "list, end and import sessions",
    subcommands: [List.self, End.self, Import.self])

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "list the live sessions of an account",
      discussion: """
        a client that is no longer in the file of HANDSTAMP_SERVE_CLIENTS is
        missing: its tokens are refused until it is back, and nothing ends
        """)

    @OptionGroup var named: NamedAccount
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let list = try await options.administering(named) { try await $0.listed($1.id) }
      output.write("sessions", list.sessions, list.columns)
    }
  }

  struct End: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "end", abstract: "end one session, all of an account, or all of everyone",
      discussion: """
        clients learn of it at once on the live feed, otherwise at their next
        request or refresh
        """)

    @Argument(help: "ID of the session to end") var session: String?
    @Option(help: "end all sessions of this account") var account: String?
    @Flag(help: "end all sessions of all accounts") var everyone = false
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let count: Int
      switch (session, account, everyone) {
      case (let id?, nil, false):
        count = try await options.administering { try await $0.endSession(SessionID(id)) ? 1 : 0 }
      case (nil, let name?, false):
        count = try await options.administering { try await $0.endSessions(of: try await $0.account(named: name).id) }
      case (nil, nil, true):
        count = try await options.administering { try await $0.endEverySession() }
      case (_, _, _):
        throw CommandError(
          .usage, "specify a session, --account or --everyone",
          hint: "run: handstamp-server admin sessions list ACCOUNT")
      }
      output.write(["ended": count], or: "ended \(count) session(s)")
    }
  }
}
#endif
