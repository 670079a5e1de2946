/// The client's list of accounts, and which of them is the active one. No secret among it: those are in one vault per
/// account.
public struct AccountsList: Sendable, Hashable {
  /// In the order in which they were added.
  public package(set) var accounts: [ListedAccount]
  /// The account that is used when none is named.
  public package(set) var active: AccountID?
  /// Accounts that were removed while something was left to do: the server may not know of their sessions' end, or a clean-up
  /// step failed. Whoever reads the list sees to it.
  public package(set) var leaving: [AccountID]

  public init(accounts: [ListedAccount] = [], active: AccountID? = nil, leaving: [AccountID] = []) {
    var seen: Set<AccountID> = []
    self.accounts = accounts.filter { seen.insert($0.id).inserted }
    self.active = active.flatMap { seen.contains($0) ? $0 : nil }
    self.leaving = leaving.filter { seen.insert($0).inserted }
  }

  public subscript(id: AccountID) -> ListedAccount? { accounts.first { $0.id == id } }

  /// The account with this tag; tags are told apart by their letters' case.
  public func account(tagged tag: String) -> ListedAccount? { accounts.first { $0.tag == tag } }
}

/// One account as the list shows it, also while it is signed out.
public struct ListedAccount: Sendable, Hashable, Codable {
  public var id: AccountID
  /// What people call it: a name or an address.
  public var name: String
  /// The app's own short name for it, such as `work`.
  public var tag: String?
  /// Whose account it is, when an app knows several servers.
  public var server: String?
  public var addedAt: UnixTime

  public init(id: AccountID, name: String, tag: String? = nil, server: String? = nil, addedAt: UnixTime) {
    self.id = id
    self.name = name
    self.tag = tag
    self.server = server
    self.addedAt = addedAt
  }
}
