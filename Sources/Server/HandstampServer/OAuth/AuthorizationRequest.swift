#if Server
import HandstampRegistry
import HandstampSupport

/// A client's authorization request (RFC 6749 section 4.1.1, OpenID Connect Core 1.0 section 3.1.2.1).
struct AuthorizationRequest: Sendable {
  let client: ConfiguredClient
  let grant: CodeGrant
  let state: String?
  let signIn: PromptRequirements
  /// The address that the user will type, as the client believes.
  let loginHint: String?
  /// An ID token of the user whom the client expects, not yet verified.
  let idTokenHint: String?
  /// The scopes that the client may not request.
  let leftOut: [String]

  /// Reads the request in an address.
  ///
  /// - Throws: an error with a redirect, or one for a page if the client or its redirect URI is not known: the browser must not be sent
  ///   back then.
  @concurrent init(query: String, clients: ClientDirectory) async throws {
    let fields = try AuthorizationRequest.fields(query)
    guard let id = fields["client_id"], let client = clients[id] else {
      throw OAuthError.invalidRequest(ClientDirectory.unknown)
    }
    try self.init(fields, of: try await AuthorizationRequest.described(client, clients))
  }

  /// Returns a client as it describes itself.
  @concurrent static func described(
    _ client: ConfiguredClient, _ clients: ClientDirectory
  ) async throws -> ConfiguredClient {
    do { return try await clients.described(client) } catch let error as DescribedError {
      throw OAuthError.invalidRequest("This app's description cannot be used: \(error).")
    }
  }

  /// Reads a request that `client` has sent beforehand.
  init(_ parameters: String, of client: ConfiguredClient) throws(OAuthError) {
    try self.init(try AuthorizationRequest.fields(parameters), of: client)
  }

  private static func fields(_ query: String) throws(OAuthError) -> FormFields {
    do throws(OAuthError) { return try FormFields(Array(query.utf8)) } catch {
      throw .invalidRequest("The app's request is not valid: a parameter is repeated or malformed.")
    }
  }

  private init(_ fields: FormFields, of client: ConfiguredClient) throws(OAuthError) {
    guard client.flows.contains(.code) else { throw .invalidRequest(ClientDirectory.unknown) }
    // Only exact matches: a browser that is sent elsewhere takes the code there (RFC 9700 section 4.1).
    guard let redirect = fields["redirect_uri"], client.allows(redirect: redirect) else {
      throw .invalidRequest("The app's return address is not registered with this server.")
    }
    let state = fields["state"]
    func refuse(_ error: String, _ words: String) -> OAuthError {
      var error = OAuthError(error, description: words)
      error.redirect = OAuthError.Redirect(uri: redirect, state: state)
      return error
    }
    guard fields["request"] == nil else { throw refuse("request_not_supported", "request objects are not supported") }
    guard fields["request_uri"] == nil else {
      throw refuse("request_uri_not_supported", "only references from the pushed request endpoint are supported")
    }
    guard fields["registration"] == nil else {
      throw refuse("registration_not_supported", "clients are not registered by a request")
    }
    guard let type = fields["response_type"] else { throw refuse("invalid_request", "response_type is missing") }
    guard type == "code" else { throw refuse("unsupported_response_type", "only response_type=code is supported") }
    guard fields["response_mode"].map({ $0 == "query" }) ?? true else {
      throw refuse("invalid_request", "only response_mode=query is supported")
    }
    guard let granted = client.granted(fields["scope"]) else {
      throw refuse("invalid_scope", "the client may not request this scope")
    }
    leftOut = granted.leftOut
    if let words = AuthorizationRequest.missingProtection(of: fields, for: client, granted.scope) {
      throw refuse("invalid_request", words)
    }
    let resource: String?
    do throws(OAuthError) { resource = try fields.resource() } catch {
      throw refuse(error.error, error.description ?? "")
    }
    guard resource.map({ client.audiences.contains($0) }) ?? true else {
      throw refuse("invalid_target", "the client may not request this resource")
    }
    do throws(OAuthError) { signIn = try PromptRequirements(fields) } catch {
      throw refuse(error.error, error.description ?? "")
    }
    // It is stored with the code and repeated in the ID token.
    guard fields["nonce"].map({ $0.utf8.count <= AuthorizationRequest.longestNonce }) ?? true else {
      throw refuse("invalid_request", "the nonce is longer than \(AuthorizationRequest.longestNonce) bytes")
    }
    self.client = client
    self.state = state
    loginHint = fields["login_hint"]
    idTokenHint = fields["id_token_hint"]
    var grant = CodeGrant(
      client: client.id, clientName: client.name, redirectURI: redirect, challenge: fields["code_challenge"],
      scope: granted.scope, audience: resource, thumbprint: fields["dpop_jkt"], nonce: fields["nonce"])
    if resource == nil { grant.audiences = client.audiences }
    grant.access.context = signIn.context
    self.grant = grant
  }

  private static let longestNonce = 512

  /// The parameters that are read: of a request that comes as a form, no others get into an address.
  static let parameters: Set<String> = [
    "client_id", "redirect_uri", "state", "request", "request_uri", "registration", "response_type", "response_mode",
    "code_challenge", "code_challenge_method", "scope", "resource", "nonce", "dpop_jkt", "login_hint", "id_token_hint",
    "prompt", "max_age", "acr_values",
  ]

  /// Returns what a request lacks that keeps its code from being used by others; `nil` if it lacks nothing.
  private static func missingProtection(
    of fields: FormFields, for client: ConfiguredClient, _ scope: String
  ) -> String? {
    let method = fields["code_challenge_method"]
    guard let challenge = fields["code_challenge"] else {
      switch client.codeProtection {
      case .pkce: return "a code_challenge with method S256 is required"
      // Without an ID token nothing repeats the nonce.
      case .nonce where fields["nonce"] == nil || !scope.split(separator: " ").contains("openid"):
        return "a nonce and the scope openid are required, or a code_challenge with method S256"
      case .nonce, .none: return method == nil ? nil : "code_challenge is missing"
      }
    }
    // RFC 7636 section 4.3: without a method it is `plain`.
    guard method == "S256", challenge.utf8.count == 43, Base64URL.decode(Array(challenge.utf8)) != nil else {
      return "the code_challenge has to be one of method S256"
    }
    return nil
  }

  /// Returns the redirect URI with the response parameters, which always include the issuer (RFC 9207).
  static func response(_ fields: [(String, String?)], to redirect: String, state: String?, issuer: String) -> String {
    withQuery(redirect, fields + [("state", state), ("iss", issuer)])
  }

  /// Returns an address with further query parameters, those that are not `nil`.
  static func withQuery(_ address: String, _ fields: [(String, String?)]) -> String {
    let query = fields.compactMap { name, value in
      value.map { PercentEncoding.encode(name) + "=" + PercentEncoding.encode($0) }
    }
    guard !query.isEmpty else { return address }
    return address + (address.contains("?") ? "&" : "?") + query.joined(separator: "&")
  }
}
#endif
