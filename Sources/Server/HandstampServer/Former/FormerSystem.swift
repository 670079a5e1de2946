#if Server
public import HandstampCore
import HandstampSupport

/// The system that the users come from, whose live sessions this server takes over. See the guide `docs/taking-over.md`.
///
/// A table of its tokens is imported by ``Administration/importFormer(_:)``. A token that is not in it is asked about at the former
/// system, if one of the URLs is set; otherwise it is refused.
public struct FormerSystem: Sendable {
  /// The issuer in ``ExternalIdentity`` by which accounts are found. `nil` (the default) finds them by their ID, which an import has kept.
  public var issuer: String?
  /// The member of a response or token with the user's ID there. Default `sub`.
  public var subject = "sub"
  /// The client by which the former system is asked, usually the app's own.
  public var clientID: String?
  /// Its secret, sent by HTTP Basic; `nil` for a public client, which sends its ID in the form.
  public var clientSecret: Secret?
  /// The clients whose tokens are taken over, as an introspection names them. Empty (the default) is ``clientID`` alone. A token endpoint
  /// accepts tokens of ``clientID`` only.
  public var appIDs: Set<String> = []
  /// The introspection endpoint (RFC 7662). Without a ``tokenURL`` it is asked about refresh tokens, otherwise about the user of an access
  /// token.
  public var introspectionURL: String?
  /// The token endpoint, for systems that do not introspect refresh tokens: each is refreshed there once.
  public var tokenURL: String?
  /// The userinfo endpoint, which names the user of an access token.
  public var userInfoURL: String?
  /// The revocation endpoint (RFC 7009), where a session ends once it goes on here.
  public var revocationURL: String?
  /// The base URL of a GoTrue (Supabase Auth), such as `https://id.example.org/auth/v1`, in place of all of these. ``clientSecret`` is its
  /// API key.
  public var goTrueURL: String?

  /// Creates one that takes over what was imported.
  public init() {}

  /// Whether tokens that were not imported are asked about.
  package var isAsked: Bool { goTrueURL != nil || tokenURL != nil || introspectionURL != nil }
  var isRefreshed: Bool { goTrueURL != nil || tokenURL != nil }
  /// Whether a session can be ended there.
  var ends: Bool { goTrueURL != nil || revocationURL != nil }

  /// - Throws: ``ServerConfigurationError/former(_:)``.
  func check() throws(ServerConfigurationError) {
    let urls = [introspectionURL, tokenURL, userInfoURL, revocationURL, goTrueURL].compactMap(\.self)
    guard urls.allSatisfy({ Origin($0)?.isTrustworthy == true }) else {
      throw .former("the URLs of the former system must be https")
    }
    guard goTrueURL == nil || urls.count == 1 else {
      throw .former("a GoTrue has no other endpoints than those below its URL")
    }
    guard userInfoURL == nil || tokenURL != nil else {
      throw .former("the userinfo endpoint of the former system is of use only with its token endpoint")
    }
  }
}
#endif
