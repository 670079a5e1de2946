import HandstampCore
import HandstampSupport

/// The one table of what is known of providers, with sources. Only what the issuer alone decides: at most providers each tenant sets
/// how refresh tokens are treated. Read in November 2026.
enum KnownIssuers {
  static func provider(of issuer: String) -> OAuthProvider? {
    guard let host = Origin(issuer)?.host else { return nil }
    let suffix = suffixes.first { host.hasSuffix($0.key) }?.value
    return (hosts[host] ?? suffix).flatMap { provider(named: $0, at: issuer) }
  }

  /// Paths of the table are below the issuer's host.
  static func provider(named name: String, at issuer: String) -> OAuthProvider? {
    guard var provider = kinds[name], let origin = Origin(issuer) else { return nil }
    func whole(_ path: String) -> String { origin.text + path }
    provider.endpoints = provider.endpoints.mapValues(whole)
    provider.missing = provider.missing.mapValues(whole)
    provider.otherNames = Set(provider.otherNames.map(whole))
    if name == "github" {
      // Where the REST API is: "Getting started with the REST API" of GitHub, of GitHub Enterprise Server, and of GHE.com.
      provider.endpoints[.userInfo] =
        if origin.host == "github.com" { "https://api.github.com/user" } else if origin.host.hasSuffix(".ghe.com") {
          "https://api.\(origin.host)/user"
        } else { origin.text + "/api/v3/user" }
    }
    return provider
  }

  private static let hosts = [
    "accounts.google.com": "google", "appleid.apple.com": "apple", "api.workos.com": "workos",
    "auth.atlassian.com": "atlassian", "github.com": "github", "gitlab.com": "gitlab", "slack.com": "slack",
    "discord.com": "discord",
    // Microsoft, "National clouds": the global one, that of the US government, and that of 21Vianet.
    "login.microsoftonline.com": "entra", "login.microsoftonline.us": "entra",
    "login.partner.microsoftonline.cn": "entra",
  ]

  private static let suffixes = [".supabase.co": "supabase", ".zitadel.cloud": "zitadel", ".ghe.com": "github"]

  /// The providers by name.
  static let kinds: [String: OAuthProvider] = [
    // Google, "Using OAuth 2.0 for Web Server Applications": a refresh returns an access token only.
    "google": known { $0.reuse = .notRotated },
    // Apple, "TokenResponse": no refresh token is returned when one is validated.
    "apple": known { $0.reuse = .notRotated },
    // supabase/auth: `internal/tokens/service.go`, the parent of the active token.
    "supabase": known { $0.reuse = .predecessor },
    // WorkOS, "Session resilience": the replay grace period.
    "workos": known { $0.reuse = .overlap(.seconds(30)) },
    // Atlassian, developer community, 2022: 10 minutes. Used only in part, because that may have changed.
    "atlassian": known { $0.reuse = .overlap(.seconds(60)) },
    // Zitadel issue 9631: a used token is refused, and there is no overlap.
    "zitadel": known { $0.reuse = .never },
    // Microsoft, "Refresh tokens in the Microsoft identity platform": used ones are not revoked, and last 24 hours or more.
    // "OpenID Connect on the Microsoft identity platform": the issuer of `common` and `organizations` has `{tenantid}`.
    // MSAL for Python, `suberror`: these ask for the user, and do not mean that the refresh token is bad.
    "entra": known {
      $0.reuse = .overlap(.seconds(86_400))
      $0.hasTenants = true
      $0.pauses = ["basic_action", "additional_action", "message_only", "consent_required", "user_password_expired"]
    },
    // GitHub, "Authorizing OAuth apps": paths, the secret in the form, scopes with commas. No metadata at the issuer; those at
    // `/login/oauth` lack the device endpoint (github-mcp-server issue 2901, 17 July 2026).
    // "Refreshing user access tokens": a used token is refused with `bad_refresh_token`.
    "github": known {
      $0.endpoints = [
        .authorization: "/login/oauth/authorize", .token: "/login/oauth/access_token", .device: "/login/device/code",
      ]
      $0.otherNames = ["", "/login/oauth"]
      $0.clientSecretIn = .form
      $0.userID = ["id"]
      $0.scopes = []
      $0.hasCommas = true
      $0.endings = ["bad_refresh_token"]
      $0.reuse = .never
    },
    // GitLab, "OAuth 2.0 identity provider API": a refresh invalidates the token, and repeats `redirect_uri`. The device endpoint
    // is missing in its metadata (kubelogin issue 1584, 2 June 2026).
    "gitlab": known {
      $0.missing = [.device: "/oauth/authorize_device"]
      $0.repeatsRedirectURI = true
      $0.reuse = .never
    },
    // Slack, "Installing with OAuth", "Using token rotation", `oauth.v2.access`, `auth.test`: the user's scopes are in `user_scope`,
    // types are `user` and `bot`, a used refresh token is revoked. IDs of users count within their team.
    // With `openid` it is "Sign in with Slack", which has metadata of its own.
    "slack": known {
      $0.endpoints = [
        .authorization: "/oauth/v2/authorize", .token: "/api/oauth.v2.access", .userInfo: "/api/auth.test",
      ]
      $0.userID = ["team_id", "user_id"]
      $0.scopes = []
      $0.scopeField = "user_scope"
      $0.hasCommas = true
      $0.tokenTypes = ["user", "bot"]
      $0.endings = ["invalid_refresh_token"]
      $0.tokenRefusals = ["invalid_auth", "token_expired", "token_revoked", "account_inactive", "not_authed"]
      $0.isReplacedByOpenID = true
      $0.reuse = .never
    },
    // Discord, "OAuth2" and "Users": without `openid`, the scope `identify` says who a user is.
    "discord": known {
      $0.missing = [.userInfo: "/api/users/@me"]
      $0.userID = ["id"]
    },
  ]

  private static func known(_ describe: (inout OAuthProvider) -> Void) -> OAuthProvider {
    var provider = OAuthProvider()
    describe(&provider)
    return provider
  }
}
