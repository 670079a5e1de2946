#if Command
import Handstamp
import HandstampCommandLine

/// The accounts of an installation, with their sessions: every command that changes the list does so through it.
typealias Accounts = Handstamp.Accounts<Void>

extension Accounts {
  /// Reads and opens nothing yet. An account's ID begins with its server, so that no server can name another one's account.
  ///
  /// - Parameter clients: Sessions that are open already; others are opened when needed.
  convenience init(of home: Home, with clients: [AccountClient] = []) {
    self.init(store: home.accounts, observesChanges: false, qualifiesIDs: true) { id throws(SessionError) in
      if let client = clients.first(where: { $0.account.id == id }) { return client.session }
      guard let account = ListedAccount(of: id) else { throw .storage(.unavailable("\(id) names no server")) }
      do throws(CommandError) { return try AccountClient(home: home, account: account).session } catch {
        throw .storage(.unavailable(error.message))
      }
    }
  }

  /// Makes a listed account the active one.
  func use(_ account: ListedAccount) async throws(CommandError) {
    do throws(SessionError) { try await activate(account.id) } catch { throw CommandError(error, list: account) }
  }
}

extension CommandError {
  /// Describes an error of a change of the list of accounts.
  init(_ error: SessionError, list account: ListedAccount) {
    guard case .refused("unknown_account", _) = error else {
      self.init(error, server: account.serverAddress)
      return
    }
    self = .removed(account.words)
  }

  /// Another process has removed the account.
  static func removed(_ account: String) -> CommandError {
    CommandError(.failure, "\(account) was removed meanwhile", hint: "run: handstamp accounts", code: "unknown_account")
  }
}
#endif
