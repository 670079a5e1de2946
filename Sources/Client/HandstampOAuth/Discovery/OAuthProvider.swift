package import HandstampCore
import HandstampSupport

/// The ways of an authorization server that its metadata does not state: endpoints that it leaves out, how it takes the client's
/// secret, and who a user is.
///
/// When a refresh token ends, as some say (`refresh_token_expires_in`, `refresh_expires_in`), is not read: it moves with each use, is 0 for
/// "no end" at Keycloak, and an administrator changes it. The server's refusal is the end.
///
/// Known providers, such as GitHub and Slack, need nothing: ``OAuthClient/provider`` is chosen by the issuer. For another server:
///
/// ```swift
/// var client = OAuthClient(issuer: "https://code.example.org", id: "forum")
/// client.provider = OAuthProvider(endpoints: [.device: "https://code.example.org/device/code"])
/// ```
public struct OAuthProvider: Sendable, Hashable {
  /// The endpoints that may be named here. The raw values are the command's words for them.
  public enum Endpoint: String, Sendable, Hashable, CaseIterable {
    case authorization, token, device, revocation
    case userInfo = "userinfo"
  }

  /// Where a request carries the client's secret.
  public enum SecretPlace: String, Sendable, Hashable, CaseIterable {
    /// In the form: `client_secret_post`.
    case form
    /// In the `Authorization` header: `client_secret_basic`.
    case header
  }

  /// URLs that take the place of those in the metadata. With one for `token`, no metadata is requested at all. Each is `https`, or
  /// `http` on loopback; others make ``OAuthBackend/metadata()`` fail, as in metadata.
  public var endpoints: [Endpoint: String]
  /// Where the client's secret goes; `nil` (the default) as the metadata says, which is the header if it says nothing (RFC 8414
  /// section 2).
  public var clientSecretIn: SecretPlace?
  /// The members of the userinfo response that identify the user, such as `["id"]`: texts or whole numbers, joined by `/` if there
  /// are several. Empty (the default) for `sub` (OpenID Connect Core 1.0 section 5.3.2).
  public var userID: [String]

  /// URLs for what the metadata leaves out. Those of the metadata count first.
  var missing: [Endpoint: String] = [:]
  /// Other names of the issuer, in responses that name it.
  var otherNames: Set<String> = []
  /// The scopes that a server without metadata knows; `nil` if that is not known.
  var scopes: [String]?
  /// The field of the authorization request for the scopes.
  var scopeField = "scope"
  /// Whether responses separate scopes with commas (RFC 6749 section 3.3 asks for spaces, and allows commas inside a scope).
  var hasCommas = false
  /// Names for bearer tokens, in lower case, besides `bearer`.
  var tokenTypes: Set<String> = []
  /// The errors that say of a refresh token what `invalid_grant` says.
  var endings: Set<String> = []
  /// The errors with status 200 by which its userinfo endpoint refuses an access token.
  var tokenRefusals: Set<String> = []
  /// Whether `invalid_grant` with one of these in `suberror` asks for the user, and leaves the refresh token as it is.
  var pauses: Set<String> = []
  /// Whether the issuer of tokens is that of the user's tenant: `{tenantid}` in the metadata stands for the claim `tid`.
  package var hasTenants = false
  /// Whether a refresh repeats the redirect URI.
  var repeatsRedirectURI = false
  /// Whether the server is another one for sign-ins with the scope `openid`: then only the metadata counts.
  var isReplacedByOpenID = false
  /// How it treats a refresh token that it has replaced; `nil` if the issuer alone does not decide that.
  var reuse: RefreshTokenReuse?

  public init(
    endpoints: [Endpoint: String] = [:], clientSecretIn: SecretPlace? = nil, userID: [String] = []
  ) {
    self.endpoints = endpoints
    self.clientSecretIn = clientSecretIn
    self.userID = userID
  }

  /// Returns a known provider by its name, for a server of that kind elsewhere, such as GitHub Enterprise Server (`github`) or your
  /// own GitLab (`gitlab`). `nil` if the name is not known or the issuer is not a URL.
  public init?(named name: String, at issuer: String) {
    guard let provider = KnownIssuers.provider(named: name, at: issuer) else { return nil }
    self = provider
  }

  /// The known provider of an issuer; `nil` if it is not known.
  package init?(of issuer: String) {
    guard let provider = KnownIssuers.provider(of: issuer) else { return nil }
    self = provider
  }

  /// The names of the known providers, sorted.
  public static var knownNames: [String] { KnownIssuers.kinds.keys.sorted() }

  /// Whether the endpoint that says who a user is was named for this server, so that it is asked whatever the scopes are.
  var namesUsers: Bool { endpoints[.userInfo] != nil || missing[.userInfo] != nil }

  func scopes(in text: String) -> [String] {
    text.split { $0 == " " || hasCommas && $0 == "," }.map(String.init)
  }

  /// Whether a refusal of a refresh is definitive: the server will not take the refresh token again. Only `invalid_grant` (RFC 6749
  /// section 5.2), and the word for the same at a provider of the table.
  func ends(_ refusal: TokenRefusal) -> Bool {
    if endings.contains(refusal.error) { return true }
    return refusal.error == "invalid_grant" && !(refusal.suberror.map(pauses.contains) ?? false)
  }
}

extension OAuthClient {
  /// The provider that counts: the one named here, else the known one of the issuer.
  var traits: OAuthProvider {
    let known = provider ?? KnownIssuers.provider(of: issuer) ?? OAuthProvider()
    guard known.isReplacedByOpenID, scopes.contains("openid") else { return known }
    return OAuthProvider(clientSecretIn: known.clientSecretIn)
  }

  /// How the server treats a refresh token that it has replaced, if the issuer or the provider alone decides that.
  package var knownReuse: RefreshTokenReuse? { traits.reuse }
}
