#if Programs
import ArgumentParser
import Handstamp
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
  /// Tells every server that has to be told, all at once. Costs one read of a small file per account where none has.
  static func deliver(within limit: Duration = .seconds(1)) async {
    guard let home = try? Home.current(), let book = try? await AccountBook(of: home) else { return }
    await withTaskGroup(of: Void.self) { group in
      for account in book.accounts {
        group.addTask { _ = await deliver(to: account, home, within: limit) }
      }
      for departure in book.former { group.addTask { _ = await deliver(to: Account(departure), home, within: limit) } }
      let departures = Departures(of: home)
      for (departure, path) in departures.all {
        group.addTask {
          if await deliver(to: Account(departure), home, within: limit) {
            departures.remove(path)
            if let book = try? await AccountBook(of: home), book[departure.account] == nil {
              try? home.save(nil, of: departure.account)
            }
          }
        }
      }
    }
  }

  /// Whether the server knows of every end.
  private static func deliver(to account: Account, _ home: Home, within limit: Duration) async -> Bool {
    switch await home.vault(of: account.id).read() {
    case .absent: return true
    case .value(let entry):
      guard entry.tombstones.contains(where: { $0.revocation != nil }) else { return true }
      guard let client = try? Client(home: home, account: account), await client.deliverEnds(within: limit) else {
        return false
      }
      if let code = await client.controller.refusedRevocations.values.first {
        Terminal.say(
          "\(account.server.text) refused to end a session that was signed out (\(code)); it lives on there until it expires"
        )
      } else {
        Terminal.say("\(account.server.text) has been told of an earlier sign-out")
      }
      return true
    case .accessOnly, .trouble: return false
    }
  }
}

extension Account {
  /// One that is on no list any more.
  fileprivate init(_ departure: Departures.Departure) {
    self.init(id: departure.account, server: departure.server, name: "", addedAt: UnixTime(milliseconds: 0))
  }
}
#endif
