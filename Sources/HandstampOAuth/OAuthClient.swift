import Foundation
public import HandstampCore

/// What an authorization server knows an app by, and what the app asks it for.
public struct OAuthClient: Sendable, Hashable {
  /// The server's issuer: an `https` URL, exactly as its metadata writes it (RFC 8414 section 2); `http` on loopback alone.
  public var issuer: String
  /// The `client_id` that the server's operator gave out.
  public var id: String
  /// For a confidential client. What an app ships to its users' devices is no secret: leave it out there.
  public var secret: Secret?
  /// What a sign-in asks for. Most servers issue a refresh token only with `offline_access` among them.
  public var scopes: [String]
  /// The APIs that the token is for (RFC 8707): absolute URLs.
  public var resources: [String]
  /// More parameters of the authorization request, such as `prompt` or a server's own `audience`. Those of the protocol
  /// itself cannot be changed by it.
  public var parameters: [String: String]

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
  /// The value of `Authorization` by which a confidential client shows its secret (RFC 6749 section 2.3.1): both parts are
  /// form-encoded first.
  func basicAuthentication(_ secret: Secret) -> String {
    let text = secret.withExposed { Address.escaped(id) + ":" + Address.escaped($0) }
    return "Basic " + Data(text.utf8).base64EncodedString()
  }
}
