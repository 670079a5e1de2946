/// An account in the list of accounts, signed in or not.
public struct ListedAccount: Sendable, Hashable, Codable {
  /// The account's ID.
  public var id: AccountID
  /// The display name: a name or an email address.
  public var name: String
  /// A short name that the app or the user chose, such as `work`.
  public var tag: String?
  /// The server that the account belongs to, for apps that know several.
  public var server: String?
  /// When the account was added to the list.
  public var addedAt: UnixTime

  public init(id: AccountID, name: String, tag: String? = nil, server: String? = nil, addedAt: UnixTime) {
    self.id = id
    self.name = name
    self.tag = tag
    self.server = server
    self.addedAt = addedAt
  }
}

extension ListedAccount {
  /// The account's ID at its server. Its ID in the list may begin with the server and a `#`, because another server's account
  /// may have the same ID.
  public var idAtServer: AccountID {
    let prefix = ListedAccount.id(of: AccountID(""), at: server).rawValue
    return id.rawValue.hasPrefix(prefix) ? AccountID(String(id.rawValue.dropFirst(prefix.count))) : id
  }

  /// Returns the ID in the list of the account that `server` calls `account`, where servers must be told apart. The URL of a
  /// server contains no `#`.
  package static func id(of account: AccountID, at server: String?) -> AccountID {
    AccountID("\(server ?? "")#\(account.rawValue)")
  }
}

extension Sequence<ListedAccount> {
  /// Returns the accounts that a user may mean by `name`: by tag, else by ID, else by name, else by the part of an email address
  /// before the `@`. The first of the four that matches any account decides; names match regardless of case.
  package func named(_ name: String) -> [ListedAccount] {
    let lowered = name.lowercased()
    let ways: [(ListedAccount) -> Bool] = [
      { $0.tag == name }, { $0.id.rawValue == name || $0.idAtServer.rawValue == name },
      { $0.name.lowercased() == lowered },
      { $0.name.contains("@") && $0.name.prefix { $0 != "@" }.lowercased() == lowered },
    ]
    for fits in ways {
      let found = filter(fits)
      if !found.isEmpty { return found }
    }
    return []
  }
}
