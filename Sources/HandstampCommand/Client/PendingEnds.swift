#if Programs
import ArgumentParser
import Handstamp
import HandstampCore
import HandstampVaults

/// A command that uses a session. Pending revocations are delivered after it runs, whatever its outcome.
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

/// Pending revocations: sessions that ended while the server was unreachable.
enum PendingEnds {
  /// Delivers all pending revocations, concurrently. If there are none, it costs one read of a small file per account.
  static func deliver(within limit: Duration = .seconds(1)) async {
    guard let home = try? Home.current() else { return }
    let forgotten = await AccountList(of: home).deliverRevocations { id in
      guard let account = Account(id: id) else { return false }
      return await deliver(to: account, home, within: limit)
    }
    // The OAuth record was kept for the revocation.
    for id in forgotten { try? home.save(nil, of: id) }
  }

  /// Delivers the pending revocations of one account. Returns whether none are left.
  private static func deliver(to account: Account, _ home: Home, within limit: Duration) async -> Bool {
    switch await home.vault(of: account.id).read() {
    case .absent: return true
    case .value(let entry):
      guard entry.tombstones.contains(where: { $0.revocation != nil }) else { return true }
      guard let client = try? await Client(home: home, account: account), await client.deliverEnds(within: limit) else {
        return false
      }
      if let code = await client.controller.refusedRevocations.values.first {
        Terminal.say(
          "\(account.server.text) refused to revoke a signed-out session (\(code)); it stays valid there until it expires"
        )
      } else {
        Terminal.say("revoked an earlier session at \(account.server.text)")
      }
      return true
    case .accessOnly, .trouble: return false
    }
  }
}
#endif
