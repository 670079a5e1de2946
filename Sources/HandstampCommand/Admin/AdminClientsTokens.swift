#if Command
import ArgumentParser
import HandstampCore
import HandstampRegistry
import HandstampServer

extension AdminClients {
  struct Tokens: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "tokens", abstract: "list the clients that got tokens for themselves lately",
      discussion: """
        for 30 days after a client's last token; end the tokens of one with
        handstamp admin clients revoke
        """)

    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    struct Answer: Document {
      struct Item: Encodable {
        var id: String
        var issuedAt: String
        var count: Int64
        var address: String?
      }
      var clients: [Item]
    }

    func run() async throws {
      let machines = try await options.administering { try await $0.machines() }
      let items = machines.map {
        Answer.Item(id: $0.client, issuedAt: $0.issuedAt.description, count: $0.count, address: $0.address)
      }
      if output.json { return Answer(clients: items).writeLine() }
      let rows = items.map { [$0.id, $0.issuedAt, String($0.count), $0.address ?? ""] }
      Table(rows: [["ID", "LAST", "COUNT", "ADDRESS"]] + rows).write()
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

    struct Answer: Document {
      var id: String
      var ended: Int
    }

    func run() async throws {
      let ended = try await options.administering { try await $0.endSessions(ofClient: id) }
      if ended == 0 { try checkKnown() }
      if output.json { return Answer(id: id, ended: ended).writeLine() }
      Terminal.out("sessions ended: \(ended)")
    }

    /// Refuses a client that has no sessions and is not in the file: its name may be mistyped.
    private func checkKnown() throws(CommandError) {
      guard (try? file.file()) != nil else {
        throw CommandError(
          .failure, "no client \(id.onOneLine) has tokens or sessions",
          hint: "list those that got tokens: handstamp admin clients tokens; or name the file: --clients FILE")
      }
      guard try !file.read().contains(where: { $0.id == id }) else { return }
      throw CommandError(
        .failure, "\(try file.file().path) has no client \(id.onOneLine), and none has sessions by that ID",
        hint: "list them: handstamp admin clients list")
    }
  }
}
#endif
