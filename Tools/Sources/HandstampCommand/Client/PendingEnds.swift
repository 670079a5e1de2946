import ArgumentParser
import HandstampCore
import HandstampVaults

/// A command that uses the session. After it, whatever its outcome, servers are told of the ends that they have not heard
/// of yet.
protocol SessionCommand: AsyncParsableCommand {
  func perform() async throws
}

extension SessionCommand {
  func run() async throws {
    do { try await perform() } catch {
      await PendingEnds.deliver()
      throw error
    }
    await PendingEnds.deliver()
  }
}

/// Sessions that ended without a network.
enum PendingEnds {
  /// Tells every server that has to be told. Costs one read of a small file where none has.
  static func deliver(within limit: Duration = .seconds(1)) async {
    guard let home = try? Home.current(), var settings = try? home.settings(), let server = settings.server else {
      return
    }
    await deliver(to: server, home, within: limit)
    guard let former = settings.formerServers else { return }
    var left: [ServerAddress] = []
    for server in former where await !deliver(to: server, home, within: limit) { left.append(server) }
    guard left != former else { return }
    settings.formerServers = left.isEmpty ? nil : left
    // Next time, if it cannot be written now.
    try? home.save(settings)
  }

  /// Whether the server knows of every end.
  @discardableResult
  private static func deliver(to server: ServerAddress, _ home: Home, within limit: Duration) async -> Bool {
    switch await home.vault(for: server).read() {
    case .absent: return true
    case .value(let entry):
      guard entry.tombstones.contains(where: { $0.revocation != nil }) else { return true }
      guard let client = try? Client(home: home, server: server), await client.deliverEnds(within: limit) else {
        return false
      }
      Terminal.say("\(server.text) has been told of an earlier sign-out")
      return true
    case .accessOnly, .trouble: return false
    }
  }
}
