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

  struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "import", abstract: "import refresh tokens of a former system, to take over its sessions",
      discussion: """
        each line of the file is a JSON object: account, the account's ID here, and
        token, or instead of it sha256 in hexadecimal; auth_time and expires, in
        seconds since 1970, are optional

        only the SHA-256 of a token is stored; a repeated import changes nothing;
        the server takes the sessions over if it has a setting of a former system
        """)

    @Argument(help: "file with a JSON object in each line; - for stdin") var file: String
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    /// How many refusals are kept for the report.
    private static let mostRefusals = 1000

    func run() async throws {
      let source = try ImportFile(file)
      let (result, count) = try await options.administering { administration in
        var (sum, line, refused) = (FormerImport(), 1, 0)
        var (pieces, held, lines) = (source.makeAsyncIterator(), [UInt8]?.some([]), [[UInt8]]())
        while held != nil || !lines.isEmpty {
          if lines.isEmpty, let rest = held {
            let piece = await pieces.next()
            lines = (rest + (piece ?? [])).split(separator: 10, omittingEmptySubsequences: false).map { Array($0) }
            // The last one goes on in the next piece. One that is too long is refused, however long it is.
            held = piece == nil ? nil : lines.popLast().map { Array($0.prefix(FormerEntry.longest + 1)) }
          }
          let batch = Array(lines.prefix(Administration.formerBatch))
          guard !batch.isEmpty else { continue }
          lines.removeFirst(batch.count)
          let part = try await administration.importFormer(batch, from: line)
          line += batch.count
          sum.imported += part.imported
          sum.known += part.known
          refused += part.refused.count
          sum.refused += part.refused.prefix(Import.mostRefusals - sum.refused.count)
        }
        return (sum, refused)
      }
      if let failure = source.failure { throw failure }
      if output.json {
        let refused = result.refused.objects([Column("line", \.line), Column("reason", \.reason)])
        Terminal.out(json: ["imported": result.imported, "known": result.known, "refused": refused])
      } else {
        for refusal in result.refused { Terminal.say("line \(refusal.line): \(refusal.reason)") }
        Terminal.say("imported \(result.imported), known \(result.known), refused \(count)")
      }
      guard count == 0 else {
        throw CommandError(
          .failure, "\(count) line(s) were not imported", hint: "correct them and repeat the command with the same file"
        )
      }
    }
  }
}
#endif
