#if Operator
import ArgumentParser
import HandstampCommandLine
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

    func run() async throws {
      let logouts = try await options.administering { try await $0.waitingLogouts(of: id) }
      output.write(
        "logouts", logouts,
        [
          Column("session", as: "SESSION", \.session.rawValue),
          Column("endedAt", as: "ENDED", \.endedAt.description),
          Column("failures", as: "FAILURES", \.failures),
          Column("nextAt", as: "NEXT", none: "given up", \.nextAt?.description),
          Column("failure", as: "WHY", none: "", \.failure),
        ])
    }
  }
}
#endif
