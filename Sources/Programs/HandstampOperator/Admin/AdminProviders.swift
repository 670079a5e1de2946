#if Operator
import ArgumentParser
import Foundation
import HandstampCommandLine
import HandstampServer

struct AdminProviders: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "providers", abstract: "the providers in a file that people sign in with",
    discussion: """
      the file is that of serve --providers; the server reads it when it starts
      and when it is reloaded (kill -HUP)
      """,
    subcommands: [List.self, Add.self, Remove.self])

  struct FileOptions: ParsableArguments {
    @Option(help: "JSON file with the providers (default: HANDSTAMP_SERVE_PROVIDERS)") var providers: String?

    func file() throws(CommandError) -> ListFile { try ListFile(.providers, named: providers) }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "list the providers")

    @OptionGroup var file: FileOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      output.write(
        "providers", try ProviderFile.providers(in: try file.file()),
        [
          Column("id", as: "ID", \.id),
          Column("name", \.name),
          Column("issuer", as: "ISSUER", \.issuer),
          Column("clientID", \.clientID),
          Column("hasSecret") { $0.clientSecret != nil },
          Column("scopes", \.scopes),
          Column("signUp", as: "SIGN-UP", \.signUp.text),
          Column("trustsEmail", as: "ADDRESSES", shown: { $0.trustsEmail ? "trusted" : "-" }, \.trustsEmail),
        ])
    }
  }

  struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove", abstract: "remove a provider from the file",
      discussion: """
        its users keep their accounts, and cannot sign in with it any more; until a
        running server is reloaded (kill -HUP), it still knows the provider
        """)

    @Argument(help: "ID of the provider") var id: String
    @OptionGroup var file: FileOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let file = try file.file()
      guard try file.remove(id) else {
        throw CommandError(
          .failure, "\(file.path) has no provider \(id)", hint: "list them: handstamp-server admin providers list")
      }
      if output.json { return Terminal.out(json: ["id": id]) }
      Terminal.out("removed")
      Terminal.say("a running server forgets the provider after: kill -HUP PID")
    }
  }
}
#endif
