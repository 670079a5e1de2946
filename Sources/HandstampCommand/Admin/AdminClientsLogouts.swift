#if Command
import ArgumentParser
import HandstampCore
import HandstampRegistry
import HandstampServer

extension AdminClients {
  struct Logouts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "logouts", abstract: "list the ended sessions that a client was not told of yet",
      discussion: """
        the server tries again for a day; a session without a next attempt was given
        up
        """)

    @Argument(help: "client ID") var id: String
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    struct Answer: Document {
      struct Item: Encodable {
        var session: String
        var endedAt: String
        var failures: Int
        var nextAt: String?
        var failure: String?
      }
      var logouts: [Item]
    }

    func run() async throws {
      let logouts = try await options.administering { try await $0.waitingLogouts(of: id) }
      let items = logouts.map {
        Answer.Item(
          session: $0.session.rawValue, endedAt: $0.endedAt.description, failures: $0.failures,
          nextAt: $0.nextAt?.description, failure: $0.failure)
      }
      if output.json { return Answer(logouts: items).writeLine() }
      let rows = items.map { [$0.session, $0.endedAt, String($0.failures), $0.nextAt ?? "given up", $0.failure ?? ""] }
      Table(rows: [["SESSION", "ENDED", "FAILURES", "NEXT", "WHY"]] + rows).write()
    }
  }
}
#endif
