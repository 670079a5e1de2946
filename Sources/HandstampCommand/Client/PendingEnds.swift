#if Command
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
    let list = await AccountList(of: home)
    let forgotten = await list.deliverRevocations { id in
      guard let account = await list[id].flatMap({ Account($0) }) ?? Account(id: id) else { return false }
      return await deliver(to: account, home, within: limit)
    }
    // The OAuth record was kept for the revocation. By now the account may be signed in to again.
    for id in forgotten {
      await list.load()
      if await list[id] == nil { try? home.forgetClients(of: id) }
    }
  }

  /// Delivers the pending revocations of one account. Returns whether none are left, and no session.
  private static func deliver(to account: Account, _ home: Home, within limit: Duration) async -> Bool {
    switch await home.vault(of: account.id).read() {
    case .absent: return true
    case .value(let entry):
      // A removed account with a session is about to be listed again.
      let isSignedOut = entry.session == nil
      guard entry.tombstones.contains(where: { $0.revocation != nil }) else { return isSignedOut }
      guard let client = try? await AccountClient(home: home, account: account), await client.deliverEnds(within: limit)
      else {
        return false
      }
      if let code = await client.controller.refusedRevocations.values.first {
        Terminal.say(
          "\(account.server.text) refused to revoke a signed-out session (\(code)); it stays valid there until it expires"
        )
      } else {
        Terminal.say("revoked an earlier session at \(account.server.text)")
      }
      return isSignedOut
    case .accessOnly, .trouble: return false
    }
  }
}
#endif
