/// How strong the proofs have to be that an operator requires of people, by the groups that their accounts are in.
public struct AssuranceRequirement: Sendable, Hashable {
  /// Stands for all accounts, whatever their groups.
  public static let everyone = "*"

  /// The least context for the accounts of each group. Empty requires nothing.
  public var groups: [String: AuthenticationContext]

  public init(groups: [String: AuthenticationContext] = [:]) { self.groups = groups }

  /// Returns the strictest of what is required of an account in these groups.
  public func context(of groups: [String]) -> AuthenticationContext? {
    ([AssuranceRequirement.everyone] + groups).compactMap { self.groups[$0] }.max()
  }

  /// Whether it is needed to know the groups of an account.
  private var namesGroups: Bool { groups.keys.contains { $0 != AssuranceRequirement.everyone } }

  /// Returns what is required of an account; `nil` for nothing, as of guests, who have nothing to prove.
  public func context(
    of account: AccountRecord, in registry: Registry
  ) async throws(RegistryError) -> AuthenticationContext? {
    guard !groups.isEmpty, !account.isGuest else { return nil }
    return context(of: namesGroups ? try await registry.groups(of: account.id) : [])
  }
}
