#if Operator
import ArgumentParser
import HandstampCommandLine
import HandstampCore
import HandstampRegistry
import HandstampServer

extension AdminClients {
  struct Tokens: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "tokens", abstract: "list the clients that got tokens for themselves lately",
      discussion: """
        for 30 days after a client's last token; end the tokens of one with
        handstamp-server admin clients revoke
        """)

    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let machines = try await options.administering { try await $0.machines() }
      output.write(
        "clients", machines,
        [
          Column("id", as: "ID", \.client),
          Column("issuedAt", as: "LAST", \.issuedAt.description),
          Column("count", as: "COUNT", \.count),
          Column("address", as: "ADDRESS", none: "", \.address),
        ])
    }
  }

  struct Revoke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "revoke", abstract: "end a client's own tokens, and its users' sessions",
      discussion: """
        at once for the server and introspection, within a second for verifiers that
        follow the feed; the client stays, and may get new tokens: to keep it from
        that, remove it, or change its secret, key or rules
        """)

    @Argument(help: "client ID") var id: String
    @OptionGroup var file: FileOptions
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let ended = try await options.administering { try await $0.endSessions(ofClient: id) }
      if ended == 0 { try checkKnown() }
      if output.json { return Terminal.out(json: ["id": id, "ended": ended]) }
      Terminal.out("tokens and sessions ended: \(ended)")
    }

    /// Refuses a client that has no sessions and is not in the file: its name may be mistyped.
    private func checkKnown() throws(CommandError) {
      guard (try? file.file()) != nil else {
        throw CommandError(
          .failure, "no client \(id.onOneLine) has tokens or sessions",
          hint: "list those that got tokens: handstamp-server admin clients tokens; or name the file: --clients FILE")
      }
      guard try !file.read().contains(where: { $0.id == id }) else { return }
      throw CommandError(
        .failure, "\(try file.file().path) has no client \(id.onOneLine), and none has tokens or sessions by that ID",
        hint: "list them: handstamp-server admin clients list")
    }
  }
}
#endif
