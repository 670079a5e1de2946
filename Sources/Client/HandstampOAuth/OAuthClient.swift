public import HandstampCore
import HandstampSupport

/// The registration of an app at an authorization server, and the access that it requests.
public struct OAuthClient: Sendable, Hashable {
  /// The server's issuer: an `https` URL, as in its metadata (RFC 8414 section 2); `http` only on loopback. The slash of an empty path
  /// may differ: ``ServerMetadata/issuer`` has the server's own spelling.
  public var issuer: String
  /// The `client_id` that the server assigned.
  public var id: String
  /// The secret of a confidential client; `nil` (the default) for a public one. A secret that ships with an app to its users'
  /// devices is not secret: leave it out there.
  public var secret: Secret?
  /// The key of a confidential client that has one instead of a secret; `nil` (the default) for others.
  public var key: ClientKey?
  /// The scopes that a sign-in requests. Most servers issue a refresh token only with `offline_access` among them.
  public var scopes: [String]
  /// The APIs that the token is for (RFC 8707): absolute URLs.
  public var resources: [String]
  /// Additional parameters of the authorization request and of the request for a device code, such as `prompt` or a server's own
  /// `audience`. They cannot override the protocol's own parameters.
  public var parameters: [String: String]
  /// Whether a token response without `token_type` brings bearer tokens, as at LinkedIn and Shopify. Default `false`: RFC 6749
  /// section 5.1 requires the member, and a client must not use a token whose type it does not know (section 7.1).
  public var assumesBearerTokens = false
  /// The ways of the server that its metadata does not state; `nil` (the default) for those of a known issuer, if it is one.
  public var provider: OAuthProvider?
  /// The redirect URI that a refresh repeats at providers that ask for it, such as GitLab; `nil` (the default) leaves it out.
  public var redirectURI: String?

  public init(
    issuer: String, id: String, secret: Secret? = nil, scopes: [String] = [], resources: [String] = [],
    parameters: [String: String] = [:]
  ) {
    self.issuer = issuer
    self.id = id
    self.secret = secret
    self.scopes = scopes
    self.resources = resources
    self.parameters = parameters
  }
}

extension OAuthClient {
  /// The parameters of the protocol, which ``parameters`` cannot override.
  package static let reservedParameters: Set = [
    "response_type", "client_id", "client_secret", "redirect_uri", "state", "code_challenge", "code_challenge_method",
    "scope", "nonce", "resource", "request", "request_uri", "response_mode", "grant_type", "code", "code_verifier",
    "device_code", "refresh_token", "client_assertion", "client_assertion_type",
  ]

  /// The fields that a sign-in adds to its first request, sorted: parameters, of which `hints` take the place of the client's, and
  /// resources.
  func extras(_ hints: [String: String] = [:]) -> [(String, String)] {
    let reserved = OAuthClient.reservedParameters.union([traits.scopeField])
    return parameters.merging(hints) { _, hint in hint }.filter { !reserved.contains($0.key) }
      .sorted { $0.key < $1.key }.map { ($0.key, $0.value) } + resources.map { ("resource", $0) }
  }
}
