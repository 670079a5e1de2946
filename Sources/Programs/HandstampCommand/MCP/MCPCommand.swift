#if Command
import ArgumentParser
import Foundation
import Handstamp
import HandstampCommandLine

struct MCPCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "mcp", abstract: "give programs a remote MCP server that shares this machine's sign-in",
    discussion: """
      gives a local program (stdio) the remote MCP server at URL (streamable
      HTTP): configure an editor or an agent with the command handstamp and the
      arguments mcp and URL

      the first one that starts opens a browser to sign in; all others of this
      machine share the sign-in, and each refresh
      """,
    subcommands: [MCPBridge.self, MCPLogin.self], defaultSubcommand: MCPBridge.self)
}

/// The server and the client, for both commands.
struct MCPOptions: ParsableArguments {
  @Argument(help: "URL of the remote MCP server") var url: String
  @Option(
    name: .customLong("client-id"), parsing: .unconditional,
    help: """
      client ID at its authorization server, or the https URL of a client's \
      metadata document (default: the account's; else it registers itself)
      """)
  var clientID: String?
  @Option(help: "file, readable by its owner only, with the client secret in its first line")
  var clientSecretFile: String?
  @Option(help: "port for the redirect to http://127.0.0.1:PORT/callback (default: any free port)")
  var redirectPort: Int?
  @Option(name: .customLong("scope"), help: "scope to request (repeatable) (default: those that the server asks for)")
  var scopes: [String] = []
  @OptionGroup var account: AccountOptions

  func validate() throws {
    guard redirectPort.map({ (1...65_535).contains($0) }) ?? true else {
      throw ValidationError("--redirect-port must be between 1 and 65535")
    }
  }

  func signIn() throws(CommandError) -> MCPSignIn {
    try EnvironmentToken.refuse(to: "mcp")
    let server = try RemoteServer(parsing: url)
    var secret: Secret?
    if let clientSecretFile {
      secret = try SecretFile.firstLine(of: clientSecretFile, for: "--client-secret-file", code: .failure)
    }
    let client = MCPSignIn.Client(
      id: clientID, secret: secret, redirect: redirectPort.map { "http://127.0.0.1:\($0)/callback" },
      scopes: scopes.flatMap { $0.split(separator: " ").map(String.init) })
    return MCPSignIn(home: try Home.current(), server: server, client: client, account: account.account)
  }
}

/// `handstamp mcp bridge`, which is also `handstamp mcp`.
struct MCPBridge: AsyncParsableCommand, TakesFirstWord {
  static let configuration = CommandConfiguration(
    commandName: "bridge", abstract: "pass messages between stdin, stdout and the remote server",
    discussion: """
      passes each message on unchanged, with a valid token; a request that fails
      here is answered with a JSON-RPC error that names the next step

      after a sign-out it answers each request so, and works again after the
      next sign-in
      """)

  @OptionGroup var options: MCPOptions

  func run() async throws {
    let signIn = try options.signIn()
    // A client that is gone is noticed when a message cannot be written.
    signal(SIGPIPE, SIG_IGN)
    let bridge = Bridge(
      signIn.server, BridgeAccess(signIn), over: CommandTransport.shared, BridgePipes())
    await bridge.run()
  }
}

struct MCPLogin: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "login", abstract: "sign in for a remote MCP server",
    discussion: """
      finds the authorization server of the MCP server (RFC 9728), and signs in
      there; an account that is signed in there is shared, if it may be; without
      a client ID it registers itself there (RFC 7591), if the server offers that

      client ID, scopes and client secret are remembered, as by handstamp login
      """)

  @Flag(help: "sign in again even if the session is valid") var force = false
  @Flag(help: "sign in with a browser") var browser = false
  @Flag(help: "sign in with a code entered on another device") var device = false
  @Flag(help: "print the URL of the sign-in page without opening a browser") var noBrowser = false
  @Option(help: "how long to wait for the user (default: 5m for a browser; the code's lifetime for a device)")
  var timeout: Span?
  @OptionGroup var options: MCPOptions

  func validate() throws {
    guard !device || !(browser || noBrowser) else { throw ValidationError("--browser and --device cannot be combined") }
  }

  func run() async throws {
    var signIn = try options.signIn()
    signIn.way = device ? .device : browser || noBrowser ? .browser : nil
    signIn.opensBrowser = !noBrowser
    signIn.patience = timeout?.duration
    (signIn.isExplicit, signIn.isForced) = (true, force)
    signIn.replacingHint = TypedCommand.hint(adding: "--force")
    let challenge: ReceivedChallenge?
    (challenge, signIn.isMissing) = await MCPLogin.challenge(of: signIn.server)
    let needed = try await signIn.alone(challenge, adding: signIn.client.scopes)
    guard let connection = signIn.home.connection(to: signIn.server, as: signIn.account) else { return }
    let account = try await KnownAccounts(of: signIn.home).list[connection.account]
    let record = try signIn.home.oauth(of: connection.account)
    let words = "\(signIn.server.url) is used with \(account?.words ?? connection.account.rawValue.onOneLine)"
    guard let missing = record?.lacked(of: needed) else { return Terminal.say(words) }
    Terminal.say("\(words), which was not granted the scope \(missing.joined(separator: " ").onOneLine)")
    Terminal.say("hint: when its client may have that, \(TypedCommand.hint(adding: "--force"))")
  }

  /// Returns the challenge to a request without a token; `nil` if the server has none, so that the well-known places
  /// decide. Also, whether the URL is unknown, by GET as by POST.
  private static func challenge(of server: RemoteServer) async -> (ReceivedChallenge?, isMissing: Bool) {
    var request = TransportRequest(
      method: "GET", url: server.url, headers: [HeaderField("Accept", "text/event-stream")])
    for isLast in [false, true] {
      guard let response = try? await CommandTransport.shared.open(request) else { return (nil, false) }
      if response.status == 401 { return (ReceivedChallenge(response.headers), false) }
      guard response.status == 404, !isLast else { return (nil, response.status == 404) }
      request = TransportRequest(
        method: "POST", url: server.url,
        headers: [
          HeaderField("Accept", "application/json, text/event-stream"), HeaderField("Content-Type", "application/json"),
        ], body: Array(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.utf8))
    }
    return (nil, false)
  }
}
#endif
