#if Command
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampSupport

/// The account that a remote MCP server is used with. Nothing in it is secret.
struct MCPConnection: Sendable, Hashable, Codable {
  var url: String
  /// The resource that tokens are for (RFC 8707).
  var resource: String
  var account: AccountID

  /// The target of the server's tokens; `nil` if the account's own tokens are for this server alone.
  func target(of record: OAuthRecord?) -> TokenTarget? {
    record?.resources == [resource] ? nil : TokenTarget(resource: resource)
  }
}

extension Home {
  private func connectionPath(of server: RemoteServer, _ name: String?) -> String {
    // No URL of a resource has such a sign.
    file(in: "mcp", for: server.resource + (name.map { "#\($0)" } ?? ""))
  }

  /// Returns the connection to a server; `nil` before the first sign-in. A file that cannot be read leads to another
  /// sign-in.
  ///
  /// - Parameter name: the account that was named for it; `nil` if none was.
  func connection(to server: RemoteServer, as name: String?) -> MCPConnection? {
    PlainFile.value(at: connectionPath(of: server, name), limit: 64 << 10)
  }

  func save(_ connection: MCPConnection, to server: RemoteServer, as name: String?) throws(CommandError) {
    try write(connection, to: connectionPath(of: server, name), isPretty: true)
  }

  /// Takes the lock of a server's sign-ins: of several bridges, one opens a page, and the others wait for it.
  func lockSignIn(at server: RemoteServer, within limit: Duration) async throws(VaultError) -> any VaultLock {
    try await vault(of: AccountID("mcp#" + server.resource)).lock(.signIn, within: limit)
  }
}
#endif
