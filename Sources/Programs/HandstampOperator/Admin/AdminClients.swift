#if Operator
import ArgumentParser
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampRegistry
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
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "list the clients, with a data folder also those that registered themselves")

    @OptionGroup var file: FileOptions
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let hasFolder = options.hasFolder
      var clients = hasFolder && (try? file.file()) == nil ? [] : try file.read()
      if hasFolder { clients += try await options.administering { try await $0.registeredClients() } }
      func type(_ client: ConfiguredClient) -> String {
        client.hasRegisteredItself ? "registered itself" : client.isConfidential ? "confidential" : "public"
      }
      func flows(_ client: ConfiguredClient) -> [String] { client.flows.map(\.rawValue).sorted() }
      output.write(
        "clients", clients,
        [
          Column("id", as: "ID", \.id),
          Column("name", as: "NAME", \.name),
          Column("confidential", as: "TYPE", shown: type, \.isConfidential),
          Column("hasRegisteredItself", \.hasRegisteredItself),
          Column("flows", as: "FLOWS", shown: { flows($0).joined(separator: ",") }, flows),
          Column("redirectURIs", \.redirectURIs),
          Column("scopes", as: "SCOPES", shown: { $0.scopes.joined(separator: " ") }, \.scopes),
          Column("audiences", \.audiences),
          Column("firstParty", \.isFirstParty),
          Column("accessTokenSigningAlg", \.accessTokenSigning.rawValue),
          Column("idTokenSigningAlg", \.idTokenSigning.rawValue),
          Column("backChannelLogoutURI", \.backChannelLogoutURI),
          Column("postLogoutRedirectURIs", \.postLogoutRedirectURIs),
        ])
    }
  }

  struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check", abstract: "check the file without starting a server",
      discussion: "exits 64 if the server would refuse it")

    @OptionGroup var file: FileOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let count = try file.read().count
      if output.json { return Terminal.out(json: ["clients": count]) }
      Terminal.out("ok, \(count) client(s)")
    }
  }

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
