#if Server
public import HandstampCore
import HandstampRegistry

extension Administration {
  /// Returns the names of an account's groups, sorted.
  public func groups(of id: AccountID) async throws(AdministrationError) -> [String] {
    let record = try await account(id)
    return try await ask(try await registry.groups(of: record.id))
  }

  /// Changes the groups of an account. ID tokens and userinfo have them from the next token on, for clients with the scope
  /// `groups`.
  ///
  /// - Parameter change: given the groups that the account is in; called again if they change meanwhile.
  /// - Returns: the groups after the change, sorted.
  @discardableResult
  public func changeGroups(
    of id: AccountID, _ change: (inout Set<String>) -> Void
  ) async throws(AdministrationError) -> [String] {
    try await changing(id) { record throws(AdministrationError) in
      var groups = Set(try await ask(try await registry.groups(of: id)))
      change(&groups)
      guard groups.count <= Registry.mostGroups, groups.allSatisfy(Registry.isGroup) else { throw .invalidGroup }
      let next = groups.sorted()
      try await ask(try await registry.setGroups(next, of: record, now: now()))
      return next
    }
  }
}
#endif
