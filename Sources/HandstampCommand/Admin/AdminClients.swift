#if Command
import ArgumentParser
import Foundation
import HandstampServer
import HandstampSupport

/// `handstamp admin clients`.
struct AdminClients: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "clients", abstract: "the OAuth clients in a file, and what they were not told",
    discussion: """
      the file is that of serve --clients; the server reads it when it starts and
      when it is reloaded (kill -HUP)
      """,
    subcommands: [List.self, Check.self, Add.self, Remove.self, Logouts.self])

  /// `--clients`.
  struct FileOptions: ParsableArguments {
    @Option(help: "JSON file with the clients (default: HANDSTAMP_SERVE_CLIENTS)") var clients: String?

    /// The path of the file.
    func path() throws(CommandError) -> String {
      let environment = ProcessInfo.processInfo.environment
      guard let path = clients ?? environment[ServeSettings.prefix + "CLIENTS"], !path.isEmpty else {
        throw CommandError(.usage, "missing file with the clients", hint: "add --clients FILE, as for handstamp serve")
      }
      return path
    }

    /// Changes the objects in the file. Written only if they have changed: a file keeps its mode and its owner, and one that is
    /// missing is created with its folder, readable for the server's user, who may be another. It has no secrets, only hashes.
    func change<Value>(_ body: (inout [[String: Any]]) throws -> Value) throws -> Value {
      let path = try path()
      let file = try ClientFile.read(path)
      let former = try file.flatMap { try JSONSerialization.jsonObject(with: $0.0) as? [[String: Any]] } ?? []
      var entries = former
      let value = try body(&entries)
      guard entries.count != former.count else { return value }
      let json = try JSONSerialization.data(
        withJSONObject: entries, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
      try createFolder(of: path)
      let owner = FileOwner(path)
      do throws(SystemError) {
        try AtomicFile.replace(path, with: Array(json) + [UInt8(ascii: "\n")], mode: file?.mode ?? 0o644)
      } catch {
        throw CommandError(
          .failure, "\(path) cannot be written: \(error.reason)", hint: "check the folder's permissions")
      }
      if geteuid() == 0, let owner { lchown(path, owner.user, owner.group) }
      return value
    }

    private func createFolder(of path: String) throws(CommandError) {
      let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
      guard !FileManager.default.fileExists(atPath: folder) else { return }
      do {
        try FileManager.default.createDirectory(
          atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
      } catch {
        throw CommandError(
          .failure, "the folder \(folder) cannot be created", hint: "create it, or name another file with --clients")
      }
    }

    func read() throws(CommandError) -> [ConfiguredClient] {
      let path = try path()
      let clients = try ClientFile.clients(at: path)
      let ids = clients.map(\.id)
      if let twice = ids.first(where: { id in ids.count { $0 == id } > 1 }) {
        throw CommandError(.usage, "\(path): \(ConfiguredClient.Defect.twice(twice))", hint: ClientFile.hint)
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
      var schemaVersion = 1
      var clients: [Item]
    }

    func run() async throws {
      let items = try file.read().map { client in
        Answer.Item(
          id: client.id, name: client.name, confidential: client.secretHash != nil,
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
      for line in Table(rows: [["ID", "NAME", "TYPE", "FLOWS", "SCOPES"]] + rows).lines { Terminal.out(line) }
    }
  }

  struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check", abstract: "check the file without starting a server",
      discussion: "exits 64 if the server would refuse it")

    @OptionGroup var file: FileOptions
    @OptionGroup var output: OutputOptions

    struct Answer: Document {
      var schemaVersion = 1
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
