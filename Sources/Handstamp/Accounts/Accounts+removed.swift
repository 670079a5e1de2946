import HandstampCore

/// Removed accounts with work that is still pending, in a program that exits soon and therefore follows none of them.
extension Accounts {
  /// Delivers the pending revocations of all accounts, listed and removed, at the same time; a removed account without any left
  /// is forgotten. Reads the list once.
  ///
  /// - Parameter deliver: Delivers one account's revocations, for as long as the program is ready to wait. It should look into
  ///   the account's vault before it opens a session: usually nothing is pending. Returns whether none is left.
  /// - Returns: The forgotten accounts. What the program keeps beside their vaults is no longer needed.
  package func deliverRevocations(by deliver: @escaping @Sendable (AccountID) async -> Bool) async -> [AccountID] {
    await load()
    let removed = Set(self.removed)
    return await withTaskGroup(of: (AccountID, Bool).self) { group in
      for id in removed.union(accounts.map(\.id)) { group.addTask { (id, await deliver(id)) } }
      var forgotten: [AccountID] = []
      for await (id, isDone) in group where isDone && removed.contains(id) {
        if await forget(id) { forgotten.append(id) }
      }
      return forgotten
    }
  }

  /// Forgets a removed account that has no work left.
  ///
  /// - Returns: `false` if it is in the list again, or if the list cannot be written: then it is forgotten another time.
  @discardableResult
  package func forget(_ id: AccountID) async -> Bool {
    guard let list = try? await change(.left(id)) else { return false }
    return list[id] == nil
  }
}
