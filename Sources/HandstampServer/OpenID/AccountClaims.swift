#if Server
import HandstampRegistry
import HandstampSupport

/// The claims of OpenID Connect Core 1.0 section 5.1 that this server has, by the scopes that allow them (section 5.4).
struct AccountClaims: Sendable {
  static let names = ["name", "preferred_username", "email", "email_verified"]

  private let account: AccountRecord
  private let hasProfile: Bool
  private let hasEmail: Bool

  /// - Parameter scopes: those of the token; `nil` is the server's own app, which may read everything.
  init(_ account: AccountRecord, allowedBy scopes: [String]?) {
    self.account = account
    hasProfile = scopes?.contains("profile") ?? true
    hasEmail = scopes?.contains("email") ?? true
  }

  /// Whether any of these scopes allows a claim.
  static func are(allowedBy scopes: [String]) -> Bool { scopes.contains("profile") || scopes.contains("email") }

  /// `nil` without a name, or where none is allowed: a claim without a value is left out (section 5.3.2).
  var username: String? { hasProfile && !account.username.isEmpty ? account.username : nil }

  func add(to json: inout JSONText) {
    json.add("name", ifPresent: username)
    // Not unique, as section 5.7 warns.
    json.add("preferred_username", ifPresent: username)
    if hasEmail, let email = account.email {
      json.add("email", email.typed)
      json.add("email_verified", account.emailConfirmedAt != nil)
    }
  }
}
#endif
