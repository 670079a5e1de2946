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

/// A bridge that runs, with the program that started it. `handstamp status` shows it.
struct RunningBridge: Sendable, Hashable, Codable {
  var process: Int32
  /// As ``HandstampSupport/ProcessTimes`` has it: another process may have the ID later.
  var startedAt: UInt64?
  /// Of the process's ID: containers may share the home.
  var namespace: UInt64?
  /// The name of the program that started the bridge; `nil` if the system does not tell.
  var program: String?
  /// `nil` until there is a sign-in.
  var account: AccountID?
  var url: String
  var since: UnixTime

  /// This process, for a server.
  init(for server: RemoteServer, at now: UnixTime) {
    let own = ProcessIdentity.current
    (process, startedAt, namespace) = (own.id, own.startedAt, own.namespace)
    program = ProcessTimes.name(of: getppid())
    url = server.url
    since = now
  }

  /// Whether the process has ended; `false` if that cannot be seen from here.
  var hasEnded: Bool { ProcessIdentity(id: process, startedAt: startedAt, namespace: namespace).hasEnded }
}

extension Home {
  private var bridgeFolder: String { path + "/mcp/running" }

  private func path(of bridge: RunningBridge) -> String {
    "\(bridgeFolder)/\(bridge.namespace ?? 0)-\(bridge.process).json"
  }

  /// Notes a running bridge. Failures are ignored, because nothing depends on it.
  func note(_ bridge: RunningBridge) {
    try? write(bridge, to: path(of: bridge))
  }

  func forget(_ bridge: RunningBridge) { unlink(path(of: bridge)) }

  /// The bridges that run, oldest first. Notes of those that were killed are removed.
  var bridges: [RunningBridge] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: bridgeFolder)) ?? []
    let found = names.filter { $0.hasSuffix(".json") }.compactMap { name -> RunningBridge? in
      PlainFile.value(at: "\(bridgeFolder)/\(name)", limit: 64 << 10)
    }
    for bridge in found where bridge.hasEnded { forget(bridge) }
    return found.filter { !$0.hasEnded }.sorted { ($0.since, $0.process) < ($1.since, $1.process) }
  }
}
#endif
