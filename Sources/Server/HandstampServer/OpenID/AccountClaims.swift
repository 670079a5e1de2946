#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// The claims of OpenID Connect Core 1.0 section 5.1 that this server has, and `groups`, by the scopes that allow them (section
/// 5.4). Access tokens have no groups: services decide by `sub`, and a name in a token would outlive the change.
struct AccountClaims: Sendable {
  static let names = AccountMembers.profileClaims.names + AccountMembers.emailClaims.names + ["groups"]
  private static let scopes: Set = ["profile", "email", "groups"]

  private let account: AccountRecord
  private let hasProfile: Bool
  private let hasEmail: Bool
  private let groups: [String]

  /// Reads what an account's claims are made of.
  ///
  /// - Parameter scopes: those of the token; `nil` is the server's own app, which may read everything.
  init(
    _ account: AccountRecord, allowedBy scopes: [String]?, from registry: Registry
  ) async throws(RegistryError) {
    self.account = account
    hasProfile = scopes?.contains("profile") ?? true
    hasEmail = scopes?.contains("email") ?? true
    groups = scopes?.contains("groups") ?? true ? try await registry.groups(of: account.id) : []
  }

  /// Reads the claims of an account; `nil` if none of the scopes allows any.
  static func read(
    _ id: AccountID, allowedBy scopes: [String], from registry: Registry
  ) async throws(RegistryError) -> AccountClaims? {
    guard scopes.contains(where: AccountClaims.scopes.contains), let account = try await registry.account(id) else {
      return nil
    }
    return try await AccountClaims(account, allowedBy: scopes, from: registry)
  }

  /// `nil` without a name, or where none is allowed: a claim without a value is left out (section 5.3.2).
  var username: String? { hasProfile && !account.username.isEmpty ? account.username : nil }

  func add(to json: inout JSONText) {
    if hasProfile { AccountMembers.profileClaims.add(account, to: &json) }
    if hasEmail, account.email != nil { AccountMembers.emailClaims.add(account, to: &json) }
    if !groups.isEmpty { json.add("groups", groups) }
  }
}
#endif
