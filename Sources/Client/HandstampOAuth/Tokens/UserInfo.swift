import Foundation
import HandstampCore
import HandstampSupport

/// The user, from the userinfo endpoint (OpenID Connect Core 1.0 section 5.3.2), or from another one that says who a user is.
struct UserInfo {
  let profile: Profile

  /// `nil` if the response does not identify the user by the members that the provider names, or by `sub`.
  init?(_ response: TransportResponse, _ provider: OAuthProvider) {
    guard let members = response.decoded([String: Member].self) else { return nil }
    let parts = provider.userID.compactMap { members[$0]?.identifier }
    let named = !parts.isEmpty && parts.count == provider.userID.count ? parts.joined(separator: "/") : nil
    guard let id = named ?? members["sub"]?.identifier, AccountID(id).namesSomebody else { return nil }
    let name = UserInfo.names.lazy.compactMap { members[$0]?.identifier }
      .first { $0.isShown && AccountID($0).namesSomebody }
    profile = Profile(id: AccountID(id), name: name ?? id)
  }

  /// The members that may hold a name to show, best first.
  private static let names = [
    "name", "preferred_username", "login", "global_name", "username", "user", "nickname", "email", "given_name",
  ]
}
