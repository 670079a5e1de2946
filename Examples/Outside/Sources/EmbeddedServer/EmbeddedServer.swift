#if Server && SQLite
import HandstampRegistry
import HandstampServer
import HandstampSQLite

/// `EmbeddedServer FOLDER PORT`: sessions served by your own program, on this machine only.
@main struct EmbeddedServer {
  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst()
    guard arguments.count == 2, let folder = arguments.first, let port = arguments.last.flatMap({ Int($0) }) else {
      return
    }
    let (store, keys) = try ServerFolder(path: folder).open()
    let client = try ConfiguredClient(
      id: "command-line-app", redirectURIs: ["http://127.0.0.1/callback"], scopes: ["profile"])
    let server = try await SessionServer(
      configuration: ServerConfiguration(issuer: "http://127.0.0.1:\(port)", clients: [client]),
      registry: Registry(store: store, mint: TokenMint(keys.master)), keys: SigningKeys())
    try await server.run(port: port, stoppingOnSignals: true)
    try store.close()
  }
}
#else
@main struct EmbeddedServer { static func main() {} }
#endif
