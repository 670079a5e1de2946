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

  struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "add", abstract: "add a provider to the file",
      discussion: """
        issuer and scopes are known of
        \(KnownProvider.names)

        the file is created if it is missing; it names the file with the secret, and
        the server reads both when it is reloaded (kill -HUP)
        """)

    @Argument(help: "ID, in addresses and for apps: a to z, 0 to 9 and -") var id: String
    @OptionGroup var file: FileOptions
    @OptionGroup var output: OutputOptions
    @Option(help: "issuer, an https URL as in the provider's metadata") var issuer: String?
    @Option(help: "known provider of the same kind, if the ID is another") var like: String?
    @Option(help: "name on the button (default: as known, or the ID)") var name: String?
    @Option(name: .customLong("client-id"), help: "client ID that the provider assigned") var clientID: String
    @Option(name: .customLong("client-secret-in"), help: "file with the client's secret, readable by the server alone")
    var secretFile: String?
    @Option(name: .customLong("native-client-id"), help: "client ID of an app with ID tokens; may be repeated")
    var nativeIDs: [String] = []
    @Option(name: .customLong("scope"), help: "scope to request; may be repeated (default: as known)")
    var scopes: [String] = []
    @Option(help: "who gets an account: open, invited or domain:example.com") var signUp = "open"
    @Flag(help: "find accounts by addresses that the provider has verified") var trustEmail = false
    @Option(help: "image on the button, in SVG, PNG, JPEG or WebP") var logo: String?

    func run() async throws {
      let file = try file.file()
      var entry: [String: Any] = ["id": id, "clientID": clientID, "signUp": signUp]
      entry["issuer"] = issuer
      entry["like"] = like
      entry["name"] = name
      // The server may be started in another folder.
      entry["clientSecretFile"] = secretFile.map { URL(fileURLWithPath: $0).path }
      entry["logo"] = logo.map { URL(fileURLWithPath: $0).path }
      if !nativeIDs.isEmpty { entry["nativeClientIDs"] = nativeIDs }
      if !scopes.isEmpty { entry["scopes"] = scopes }
      if trustEmail { entry["trustsEmail"] = true }
      // As the server will read it.
      guard let provider = try ProviderFile.providers(in: file, given: entry).first else {
        throw file.refusal("not a provider")
      }
      try file.change { entries in
        guard !entries.contains(where: { $0["id"] as? String == id }) else {
          throw CommandError(
            .usage, "\(file.path) has a provider \(id) already", hint: "choose another ID, or edit the file")
        }
        entries.append(entry)
      }
      // The path is below the server's issuer.
      if output.json { return Terminal.out(json: ["id": id, "callbackPath": provider.callbackPath]) }
      Terminal.out(id)
      Terminal.say("its redirect URI, to be registered at the provider: ISSUER\(provider.callbackPath)")
      Terminal.say("a running server knows the provider after: kill -HUP PID")
    }
  }
}
#endif
