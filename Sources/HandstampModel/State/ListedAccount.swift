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
