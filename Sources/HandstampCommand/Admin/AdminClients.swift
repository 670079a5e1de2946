#if Command
import ArgumentParser
import Foundation
import HandstampServer

struct AdminClients: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "clients", abstract: "the OAuth clients in a file, and what they were not told",
    discussion: """
      the file is that of serve --clients; the server reads it when it starts and
      when it is reloaded (kill -HUP)
      """,
    subcommands: [List.self, Check.self, Add.self, Remove.self, Tokens.self, Revoke.self, Logouts.self])

  struct FileOptions: ParsableArguments {
    @Option(help: "JSON file with the clients (default: HANDSTAMP_SERVE_CLIENTS)") var clients: String?

    func file() throws(CommandError) -> ListFile { try ListFile(.clients, named: clients) }

    func read() throws(CommandError) -> [ConfiguredClient] {
      let file = try file()
      let clients = try ClientFile.clients(in: file)
      let ids = clients.map(\.id)
      if let twice = ids.first(where: { id in ids.count { $0 == id } > 1 }) {
        throw file.refusal("\(ConfiguredClient.Defect.twice(twice))")
      }
      return clients
    }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "list the clients")

    @OptionGroup var file: FileOptions
    @OptionGroup var output: OutputOptions

    struct Answer: Document {
      struct Item: Encodable {
        var id: String
        var name: String
        var confidential: Bool
        var flows: [String]
        var redirectURIs: [String]
        var scopes: [String]
        var audiences: [String]
        var firstParty: Bool
        var accessTokenSigningAlg: String
        var idTokenSigningAlg: String
        var backChannelLogoutURI: String?
        var postLogoutRedirectURIs: [String]
      }
      var clients: [Item]
    }

    func run() async throws {
      let items = try file.read().map { client in
        Answer.Item(
          id: client.id, name: client.name, confidential: client.isConfidential,
          flows: client.flows.map(\.rawValue).sorted(), redirectURIs: client.redirectURIs, scopes: client.scopes,
          audiences: client.audiences, firstParty: client.isFirstParty,
          accessTokenSigningAlg: client.accessTokenSigning.rawValue, idTokenSigningAlg: client.idTokenSigning.rawValue,
          backChannelLogoutURI: client.backChannelLogoutURI, postLogoutRedirectURIs: client.postLogoutRedirectURIs)
      }
      if output.json { return Answer(clients: items).writeLine() }
      let rows = items.map { item in
        [
          item.id, item.name, item.confidential ? "confidential" : "public", item.flows.joined(separator: ","),
          item.scopes.joined(separator: " "),
        ]
      }
      Table(rows: [["ID", "NAME", "TYPE", "FLOWS", "SCOPES"]] + rows).write()
    }
  }

  struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check", abstract: "check the file without starting a server",
      discussion: "exits 64 if the server would refuse it")

    @OptionGroup var file: FileOptions
    @OptionGroup var output: OutputOptions

    struct Answer: Document {
      var clients: Int
    }

    func run() async throws {
      let count = try file.read().count
      if output.json { return Answer(clients: count).writeLine() }
      Terminal.out("ok, \(count) client(s)")
    }
  }
}
#endif
