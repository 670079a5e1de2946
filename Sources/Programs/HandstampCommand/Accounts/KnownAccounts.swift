#if Command
import Handstamp
import HandstampCommandLine

/// A snapshot of the accounts of an installation, for choosing one. ``Accounts`` changes the list.
struct KnownAccounts: Sendable {
  let home: Home
  let settings: Settings
  /// As it is stored, also with accounts that have no valid server.
  let stored: AccountsList
  /// Without those.
  let list: AccountsList

  /// Reads the accounts, without taking a lock or changing anything.
  init(of home: Home) async throws(CommandError) {
    self.home = home
    // Damaged settings are reported by every command, and not only by the sign-in that needs them.
    settings = try home.settings()
    do throws(VaultError) {
      stored = try await home.accounts.read().get()
    } catch { throw CommandError(list: error) }
    var list = stored
    list.accounts.removeAll { !$0.isUsable }
    self.list = list
  }

  var accounts: [ListedAccount] { list.accounts }
  /// The account used if none is named and none is set for the folder.
  var active: ListedAccount? { list.active.flatMap { list[$0] } }

  // MARK: Choosing

  /// Returns the named account; without a name that of the working directory, with the folder of its rule, else the active one.
  func choice(_ name: String? = nil) throws(CommandError) -> (account: ListedAccount?, folder: String?) {
    if let name { return (try account(named: name), nil) }
    guard let rule = try FolderRules(of: home).current() else { return (active, nil) }
    guard let account = list[rule.account] else { throw rule.gone }
    return (account, rule.folder)
  }

  /// Returns the account of ``choice(_:)``.
  ///
  /// - Throws: A refusal that lists the choices if no account, or more than one, matches the name, or none is active.
  func account(_ name: String?) throws(CommandError) -> ListedAccount {
    if let account = try choice(name).account { return account }
    guard !accounts.isEmpty else { throw .notSignedIn }
    throw CommandError(
      .signInNeeded, "no account is active; known accounts: \(choices)", hint: "run: handstamp switch NAME")
  }

  private func account(named name: String) throws(CommandError) -> ListedAccount {
    let found = accounts.named(name)
    if found.count == 1 { return found[0] }
    guard !found.isEmpty else {
      throw CommandError(
        .usage, "no account named \(plain(name))",
        hint: accounts.isEmpty ? "run: handstamp login" : "choose one of: \(choices)")
    }
    // Two servers may use the same ID; the full ID is unique.
    let handles = Set(found.map { $0.handle(among: accounts) })
    let names = handles.count == found.count ? handles.sorted() : found.map(\.id.rawValue)
    throw CommandError(
      .usage, "\(name) matches \(found.count) accounts", hint: "choose one of: \(names.joined(separator: ", "))")
  }

  /// Account names for a hint, at most six.
  private var choices: String {
    let handles = accounts.prefix(6).map { $0.handle(among: accounts) }
    return handles.joined(separator: ", ") + (accounts.count > 6 ? " … (handstamp accounts lists all)" : "")
  }
}

extension CommandError {
  /// Describes an error of the list of accounts.
  fileprivate init(list trouble: VaultError) {
    guard trouble == .corrupt else {
      self.init(trouble)
      return
    }
    self.init(
      .vault, "the list of accounts is damaged, but nothing was erased", hint: "run: handstamp doctor --fix",
      concernsHome: true)
  }
}

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

/// An account at a server, as known to this installation. Its ID determines its vault, and combines server and account, so that
/// no server can name another one's account.
extension ListedAccount {
  /// An account that is known by its ID only, such as a removed one; `nil` if the ID names no valid server.
  init?(of id: AccountID) {
    guard let server = ServerAddress(of: id) else { return nil }
    self.init(id: id, name: "", server: server.text, addedAt: UnixTime(milliseconds: 0))
    name = idAtServer.rawValue
  }

  /// The server's URL. Invalid only in a list that was changed by hand, see ``isUsable``.
  var serverAddress: ServerAddress { ServerAddress(listed: server ?? "") }

  /// Whether the account has a valid server.
  var isUsable: Bool { server.flatMap { try? ServerAddress(parsing: $0, allowingClearText: true) } != nil }

  /// The name, or the ID for an account without one, such as a guest's.
  var shownName: String { name.isEmpty ? idAtServer.rawValue : name }

  /// The name and the server, for messages.
  var words: String { "\(shownName) at \(serverAddress.text)" }

  /// Returns the shortest name for it on a command line.
  func handle(among all: [ListedAccount]) -> String {
    if let tag { return tag }
    let isAlone = all.count { $0.name.lowercased() == name.lowercased() } == 1
    return isAlone && !name.isEmpty ? name : idAtServer.rawValue
  }
}
#endif
