#if Command
import Foundation
import Handstamp
import HandstampSupport

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
