#if Command
import ArgumentParser
import Foundation
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

    struct Answer: Document {
      struct Item: Encodable {
        var id: String
        var name: String
        var issuer: String
        var clientID: String
        var hasSecret: Bool
        var scopes: [String]
        var signUp: String
        var trustsEmail: Bool
      }
      var providers: [Item]
    }

    func run() async throws {
      let items = try ProviderFile.providers(in: try file.file()).map { provider in
        Answer.Item(
          id: provider.id, name: provider.name, issuer: provider.issuer, clientID: provider.clientID,
          hasSecret: provider.clientSecret != nil, scopes: provider.scopes, signUp: provider.signUp.text,
          trustsEmail: provider.trustsEmail)
      }
      if output.json { return Answer(providers: items).writeLine() }
      let rows = items.map { [$0.id, $0.issuer, $0.signUp, $0.trustsEmail ? "trusted" : "-"] }
      Table(rows: [["ID", "ISSUER", "SIGN-UP", "ADDRESSES"]] + rows).write()
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

    struct Answer: Document {
      var id: String
    }

    func run() async throws {
      let file = try file.file()
      guard try file.remove(id) else {
        throw CommandError(
          .failure, "\(file.path) has no provider \(id)", hint: "list them: handstamp admin providers list")
      }
      if output.json { return Answer(id: id).writeLine() }
      Terminal.out("removed")
      Terminal.say("a running server forgets the provider after: kill -HUP PID")
    }
  }
}
#endif
