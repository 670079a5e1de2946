#if Programs
import Foundation
import HandstampCore
import HandstampVaults

/// A snapshot of the accounts of an installation.
struct AccountBook: Sendable {
  let home: Home
  let accounts: [Account]
  /// The account used if none is named and none is set for the folder.
  let active: AccountID?
  /// The account of an installation older than the list, which does not contain it yet.
  private let unlisted: Account?
  /// Former servers of such an installation, at which revocations may be pending.
  let former: [Departures.Departure]

  /// Reads the accounts, without taking a lock or changing anything.
  init(of home: Home) async throws(Refusal) {
    self.home = home
    let settings = try home.settings()
    let list: AccountsList
    switch await home.index.read() {
    case .success(let found): list = found
    case .failure(let trouble): throw Refusal(list: trouble)
    }
    var unlisted: Account?
    if settings.hasList != true, let server = settings.server, list[Account.soleID(at: server)] == nil {
      unlisted = await AccountBook.sole(at: server, home)
    }
    self.unlisted = unlisted
    former = (settings.formerServers ?? []).map { Departures.Departure(account: Account.soleID(at: $0), server: $0) }
    accounts = list.accounts.compactMap(Account.init) + [unlisted].compactMap { $0 }
    active = list.active ?? unlisted?.id
  }

  /// Returns an older installation's account at a server.
  private static func sole(at server: ServerAddress, _ home: Home) async -> Account? {
    let id = Account.soleID(at: server)
    let host = String(server.text.drop { $0 != "/" }.drop { $0 == "/" })
    func account(_ name: String, _ time: UnixTime) -> Account {
      Account(id: id, server: server, name: name, addedAt: time)
    }
    switch await home.vault(of: id).read() {
    case .absent: return nil
    case .value(let entry):
      let time = entry.session?.startedAt.wall ?? entry.tombstones.last?.endedAt.wall ?? UnixTime(milliseconds: 0)
      return account(entry.session?.profile?.name ?? host, time)
    case .accessOnly(_, let profile, _): return account(profile?.name ?? host, UnixTime(milliseconds: 0))
    case .trouble: return account(host, UnixTime(milliseconds: 0))
    }
  }

  subscript(id: AccountID) -> Account? { accounts.first { $0.id == id } }

  /// Whether the stored list is missing accounts that are known here.
  var isOlderThanList: Bool { unlisted != nil || !former.isEmpty }

  var activeAccount: Account? { active.flatMap { self[$0] } }

  // MARK: Choosing

  /// Returns the account used if none is named: that of the working directory, else the active one.
  func usual() throws(Refusal) -> Account? { try usual(by: FolderRules(of: home).current()) }

  /// Returns the same, given the folder rule that applies here.
  func usual(by rule: FolderRules.Rule?) throws(Refusal) -> Account? {
    guard let rule else { return activeAccount }
    guard let account = self[rule.account] else { throw rule.gone }
    return account
  }

  /// Returns the named account, else the usual one.
  ///
  /// - Throws: A refusal that lists the choices if no account, or more than one, matches the name, or there is no usual one.
  func account(_ name: String?) throws(Refusal) -> Account {
    if let name { return try account(named: name) }
    if let account = try usual() { return account }
    guard !accounts.isEmpty else { throw .nobody }
    throw Refusal(.signInNeeded, "no account is active; known accounts: \(choices)", hint: "run: handstamp switch NAME")
  }

  /// Finds by tag, then by ID, name, and the part of an email address before the @; the first that matches anything decides.
  private func account(named name: String) throws(Refusal) -> Account {
    let lowered = name.lowercased()
    let ways: [(Account) -> Bool] = [
      { $0.tag == name }, { $0.id.rawValue == name || $0.idAtServer == name }, { $0.name.lowercased() == lowered },
      { $0.name.contains("@") && $0.name.prefix { $0 != "@" }.lowercased() == lowered },
    ]
    for fits in ways {
      let found = accounts.filter(fits)
      if found.count == 1 { return found[0] }
      guard found.isEmpty else {
        // Two servers may use the same ID; the full ID is unique.
        let handles = Set(found.map { $0.handle(among: accounts) })
        let names = handles.count == found.count ? handles.sorted() : found.map(\.id.rawValue)
        throw Refusal(
          .usage, "\(name) matches \(found.count) accounts", hint: "choose one of: \(names.joined(separator: ", "))"
        )
      }
    }
    throw Refusal(
      .usage, "no account named \(plain(name))",
      hint: accounts.isEmpty ? "run: handstamp login" : "choose one of: \(choices)")
  }

  /// Account names for a hint, at most six.
  private var choices: String {
    let handles = accounts.prefix(6).map { $0.handle(among: accounts) }
    return handles.joined(separator: ", ") + (accounts.count > 6 ? " … (handstamp accounts lists all)" : "")
  }

  // MARK: Changing

  /// Applies an edit to the stored list, which also adds the accounts of an older installation to it.
  func edit(_ edit: AccountsEdit) async throws(Refusal) {
    if let unlisted, case .success(let list) = await home.index.read(), list[unlisted.id] == nil {
      try await apply(.add(unlisted.listed))
    }
    try await apply(edit)
    var settings = try home.settings()
    guard settings.hasList != true || settings.formerServers != nil else { return }
    for departure in former {
      do { try Departures(of: home).add(departure) } catch { throw home.unwritable() }
    }
    settings.hasList = true
    settings.formerServers = nil
    try home.save(settings)
  }

  private func apply(_ edit: AccountsEdit) async throws(Refusal) {
    if case .failure(let trouble) = await home.index.edit(edit) { throw Refusal(list: trouble) }
  }

  /// Returns the account that `server` calls `profile`, whether it is already known or new.
  func place(of profile: Profile, at server: ServerAddress, name: String, now: UnixTime) async -> Account {
    let id = Account.id(of: profile.id, at: server)
    let sole = Account.soleID(at: server)
    let known: AccountID =
      if self[id] == nil, self[sole] != nil, await isFree(sole, for: profile.id) { sole } else { id }
    return Account(
      id: known, server: server, name: name, tag: self[known]?.tag, addedAt: self[known]?.addedAt ?? now)
  }

  /// Whether an older installation's only vault for a server may be this account's.
  private func isFree(_ sole: AccountID, for account: AccountID) async -> Bool {
    switch await home.vault(of: sole).read() {
    case .absent, .trouble(.corrupt): true
    case .value(let entry): entry.session.map { $0.profile?.id == account } ?? true
    case .accessOnly(_, let profile, _): profile?.id == account
    case .trouble: false
    }
  }
}

extension Refusal {
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
