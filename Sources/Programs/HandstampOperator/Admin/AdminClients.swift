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

  struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove", abstract: "remove a client from the file, and end its sessions",
      discussion: """
        until a running server is reloaded (kill -HUP), it still knows the client,
        whose users may sign in to it; run the command again after that; a client
        that is no longer in the file can be named, too
        """)

    @Argument(help: "client ID") var id: String
    @OptionGroup var file: FileOptions
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      // One that has registered itself is in no file.
      let file = try RegisteredClient.isID(id) ? nil : self.file.file()
      // The file is read first and the store changed first, so that nothing is changed if either cannot be used.
      try file?.check()
      let (wasRegistered, ended) = try await options.administering { try await $0.removeClient(id) }
      let isRemoved = try file?.remove(id) ?? wasRegistered
      guard isRemoved || ended > 0 else {
        let place = file?.path ?? "the server"
        throw CommandError(
          .failure, "\(place) has no client \(id), and none has sessions by that ID",
          hint: "list them: handstamp-server admin clients list")
      }
      if output.json { return Terminal.out(json: ["id": id, "removed": isRemoved, "ended": ended]) }
      Terminal.out("\(isRemoved ? "removed" : "not in the file"), tokens and sessions ended: \(ended)")
      if isRemoved, file != nil { Terminal.say("a running server forgets the client after: kill -HUP PID") }
    }
  }

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
