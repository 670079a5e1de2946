import Foundation
public import HandstampCore
import HandstampSupport

/// The registration of an app at an authorization server, and the access that it requests.
public struct OAuthClient: Sendable, Hashable {
  /// The server's issuer: an `https` URL, exactly as in its metadata (RFC 8414 section 2); `http` only on loopback.
  public var issuer: String
  /// The `client_id` that the server assigned.
  public var id: String
  /// The secret of a confidential client; `nil` (the default) for a public one. A secret that ships with an app to its users'
  /// devices is not secret: leave it out there.
  public var secret: Secret?
  /// The scopes that a sign-in requests. Most servers issue a refresh token only with `offline_access` among them.
  public var scopes: [String]
  /// The APIs that the token is for (RFC 8707): absolute URLs.
  public var resources: [String]
  /// Additional parameters of the authorization request, such as `prompt` or a server's own `audience`. They cannot override
  /// the protocol's own parameters.
  public var parameters: [String: String]
  /// Whether a token response without `token_type` brings bearer tokens, as at LinkedIn and Shopify. Default `false`: RFC 6749
  /// section 5.1 requires the member, and a client must not use a token whose type it does not know (section 7.1).
  public var assumesBearerTokens = false

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
  /// Returns the `Authorization` value with which a confidential client authenticates (RFC 6749 section 2.3.1): both parts are
  /// form-encoded first.
  func basicAuthentication(_ secret: Secret) -> String {
    let text = secret.withExposed { PercentEncoding.encode(id) + ":" + PercentEncoding.encode($0) }
    return "Basic " + Data(text.utf8).base64EncodedString()
  }
}
