#if Operator
import HandstampCommandLine
import HandstampServer

/// The facts about a provider whose name is enough.
struct KnownProvider {
  let id: String
  let name: String
  let issuer: String
  var scopes = ["openid", "email", "profile"]
  var userInfo: UserInfoMapping?

  /// Read in November 2026 in the providers' documentation.
  static let all = [
    KnownProvider(id: "apple", name: "Apple", issuer: "https://appleid.apple.com", scopes: ["openid"]),
    KnownProvider(
      id: "discord", name: "Discord", issuer: "https://discord.com", scopes: ["identify", "email"], userInfo: .discord),
    KnownProvider(
      id: "github", name: "GitHub", issuer: "https://github.com", scopes: ["read:user", "user:email"],
      userInfo: .gitHub),
    KnownProvider(id: "gitlab", name: "GitLab", issuer: "https://gitlab.com"),
    KnownProvider(id: "google", name: "Google", issuer: "https://accounts.google.com"),
    KnownProvider(id: "linkedin", name: "LinkedIn", issuer: "https://www.linkedin.com/oauth"),
    KnownProvider(id: "slack", name: "Slack", issuer: "https://slack.com"),
  ]

  static var names: String { all.map(\.id).joined(separator: ", ") }

  static func named(_ id: String) -> KnownProvider? { all.first { $0.id == id } }
}
#endif
