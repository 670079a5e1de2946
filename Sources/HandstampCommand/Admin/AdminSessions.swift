#if Command
import ArgumentParser
import HandstampCore
import HandstampRegistry
import HandstampServer

/// `handstamp admin sessions`.
struct AdminSessions: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sessions", abstract: "list and end sessions", subcommands: [List.self, End.self])

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "list the live sessions of an account")

    @OptionGroup var named: NamedAccount
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    struct Answer: Document {
      var schemaVersion = 1
      var sessions: [SessionItem]
    }

    func run() async throws {
      let sessions = try await options.administering { administration throws(AdministrationError) in
        try await administration.sessions(of: try await administration.account(named: named).id)
      }
      if output.json { return Answer(sessions: sessions.map { SessionItem($0) }).writeLine() }
      for line in SessionItem.table(sessions).lines { Terminal.out(line) }
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

    struct Answer: Document {
      var schemaVersion = 1
      var ended: Int
    }

    func run() async throws {
      let count: Int
      switch (session, account, everyone) {
      case (let id?, nil, false):
        count = try await options.administering { administration throws(AdministrationError) in
          try await administration.endSession(SessionID(id)) ? 1 : 0
        }
      case (nil, let name?, false):
        count = try await options.administering { administration throws(AdministrationError) in
          try await administration.endSessions(of: try await administration.account(named: name).id)
        }
      case (nil, nil, true):
        count = try await options.administering { administration throws(AdministrationError) in
          try await administration.endEverySession()
        }
      case (_, _, _):
        throw Refusal(
          .usage, "specify a session, --account or --everyone", hint: "run: handstamp admin sessions list ACCOUNT")
      }
      if output.json { return Answer(ended: count).writeLine() }
      Terminal.say("ended \(count) session(s)")
    }
  }
}
#endif
