#if Server
import HandstampCore
import HandstampRegistry

/// A user, as a provider identifies them.
struct UpstreamUser: Sendable, Hashable {
  /// The ``UpstreamProvider/id``.
  var provider: String
  /// The user at the provider. Never the email address, which can be reassigned.
  var identity: ExternalIdentity
  var email: EmailAddress?
  /// Whether the provider says that it has verified the address.
  var isEmailVerified = false
  var name: String?
  /// The provider's ID of its session, `sid`.
  var session: String?
  /// When the user proved to be the account's owner, `auth_time`.
  var authenticatedAt: UnixTime?
  /// When the browser was sent there to sign in anew; `nil` if it was not asked to, and for ID tokens of apps.
  var askedAt: UnixTime?
  /// How, `amr` (RFC 8176).
  var methods: [String] = []
  var acr: String?
  /// When a session that depends on the provider's must end, `session_expiry` (IPSIE).
  var sessionExpiry: UnixTime?
}

/// The result of a sign-in in a browser.
struct UpstreamOutcome: Sendable {
  var user: UpstreamUser
  /// The caller's text from ``UpstreamSignIn/begin(for:boundTo:parameters:at:)``.
  var context: String
  /// The ID token, for a sign-out at the provider; `nil` for OAuth providers.
  var idToken: Secret?
}
#endif
