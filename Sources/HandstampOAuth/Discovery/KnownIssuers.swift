import HandstampCore
import HandstampSupport

/// How servers that are known by their issuer treat a refresh token that they have replaced. Only where the issuer alone decides it:
/// at most providers each tenant sets it. Read in November 2026; supabase/auth: `internal/tokens/service.go`, the parent of the active
/// token.
enum KnownIssuers {
  static func reuse(of issuer: String) -> RefreshTokenReuse? {
    guard let host = Origin(issuer)?.host else { return nil }
    if host.hasSuffix(".supabase.co") { return .predecessor }
    return hosts[host]
  }

  private static let hosts: [String: RefreshTokenReuse] = [
    // Google, "Using OAuth 2.0 for Web Server Applications": a refresh returns an access token only.
    "accounts.google.com": .notRotated,
    // Apple, "TokenResponse": no refresh token is returned when one is validated.
    "appleid.apple.com": .notRotated,
    // Microsoft, "Refresh tokens in the Microsoft identity platform": used ones are not revoked, and last 24 hours or more.
    "login.microsoftonline.com": .overlap(.seconds(86_400)),
    // WorkOS, "Session resilience": the replay grace period.
    "api.workos.com": .overlap(.seconds(30)),
    // Atlassian, developer community, 2022: 10 minutes. Used only in part, because that may have changed.
    "auth.atlassian.com": .overlap(.seconds(60)),
    // GitLab, "OAuth 2.0 identity provider API": a refresh invalidates the token.
    "gitlab.com": .never,
  ]
}
