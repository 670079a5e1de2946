public import HandstampCore
import HandstampSupport

/// The groups of accounts. They are names that administrators give and clients read; the server attaches no rights to them.
extension Registry {
  /// The most groups that an account can be in.
  public static let mostGroups = 100
  private static let longestGroup = 100

  /// Returns whether a text can name a group: 1 to 100 bytes, with no space, comma or control character.
  public static func isGroup(_ name: String) -> Bool {
    (1...longestGroup).contains(name.utf8.count)
      && name.unicodeScalars.allSatisfy { scalar in
        !scalar.properties.isWhitespace && scalar != ","
          && ![.control, .format].contains(scalar.properties.generalCategory)
      }
  }

  /// Returns the names of an account's groups, sorted.
  public func groups(of account: AccountID) async throws(RegistryError) -> [String] {
    try await item(StoredItemID(.groups, account.rawValue)).map { $0.payload.split(separator: " ").map(String.init) }
      ?? []
  }

  /// Puts an account into exactly these groups.
  ///
  /// - Throws: ``RegistryError/accountChanged`` if the account has changed.
  public func setGroups(_ groups: [String], of record: AccountRecord, now: UnixTime) async throws(RegistryError) {
    let previous = try await self.groups(of: record.id)
    let next = Set(groups)
    guard next != Set(previous) else { return }
    let details = JSONText([
      ("added", next.subtracting(previous).sorted().joined(separator: " ")),
      ("removed", Set(previous).subtracting(next).sorted().joined(separator: " ")),
    ])
    // An account that does not change otherwise, so that of two changes at once one fails.
    try await writeIfUnchanged([
      .replaceAccount(record, expecting: record.revision), Registry.groupsChange(next, of: record.id, now: now),
      audited(.groupsChanged, account: record.id, details: details.text, at: now),
    ])
  }

  /// The change that puts an account into groups.
  static func groupsChange(
    _ groups: some Sequence<String>, of account: AccountID, now: UnixTime
  ) -> RegistryChange {
    .putItem(
      StoredItem(
        id: StoredItemID(.groups, account.rawValue), kind: .groups, subject: account.rawValue,
        payload: Set(groups).sorted().joined(separator: " "), createdAt: now,
        expiresAt: now.advanced(by: StoredItem.forever)))
  }
}
