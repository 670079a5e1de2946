#if Command
import Handstamp
import HandstampCore
import HandstampVaults

/// The accounts of an installation, with their sessions: every command that changes the list does so through it.
typealias AccountList = Handstamp.Accounts<DeliveryWatch, Void>

extension AccountList {
  /// Reads and opens nothing yet. An account's ID begins with its server, so that no server can name another one's account.
  ///
  /// - Parameter clients: Sessions that are open already; others are opened when needed.
  convenience init(of home: Home, with clients: [Client] = []) {
    self.init(index: home.index, follows: false, prefixesIDs: true) { id throws(SessionError) in
      if let client = clients.first(where: { $0.account.id == id }) { return client.session }
      guard let account = Account(id: id) else { throw .storage(.unavailable("\(id) names no server")) }
      do throws(Refusal) { return try Client(home: home, account: account).session } catch {
        throw .storage(.unavailable(error.message))
      }
    }
  }

  /// Makes a listed account the active one.
  func use(_ account: Account) async throws(Refusal) {
    do throws(SessionError) { try await activate(account.id) } catch { throw Refusal(error, list: account) }
  }
}

extension Refusal {
  /// Describes an error of a change of the list of accounts.
  init(_ error: SessionError, list account: Account) {
    guard case .refused("unknown_account", _) = error else {
      self.init(error, account: account)
      return
    }
    self = .removed(account.words)
  }

  /// Another process has removed the account.
  static func removed(_ account: String) -> Refusal {
    Refusal(.failure, "\(account) was removed meanwhile", hint: "run: handstamp accounts", code: "unknown_account")
  }
}
#endif
