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
#endif
