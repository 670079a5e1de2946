#if Server
import HandstampJOSE
import HandstampRegistry
import HandstampSupport

extension ResourceDocument {
  /// The server's own API, whose identifier is the issuer: that is the audience of its tokens as well.
  init?(_ configuration: ServerConfiguration) {
    let issuer = configuration.issuerIdentifier
    self.init(of: issuer, issuer: issuer, scopes: ["openid", "profile", "email"])
  }
}

extension FixedDocument {
  /// The metadata of the authorization server and OpenID provider (RFC 8414 section 2, OpenID Connect Discovery 1.0 section 3). There is no registered parameter for the algorithms of access tokens;
  /// the name is like those of other tokens.
  init(metadataOf configuration: ServerConfiguration, algorithms: [SigningKeys.Algorithm]) {
    let issuer = configuration.issuer
    var json = JSONText(reserving: 3072)
    json.add("issuer", configuration.issuerIdentifier)
    json.add("authorization_endpoint", issuer + "/oauth/authorize")
    json.add("token_endpoint", issuer + "/oauth/token")
    json.add("device_authorization_endpoint", issuer + "/oauth/device_authorization")
    json.add("revocation_endpoint", issuer + "/oauth/revoke")
    json.add("introspection_endpoint", issuer + "/oauth/introspect")
    json.add("userinfo_endpoint", issuer + "/oauth/userinfo")
    json.add("pushed_authorization_request_endpoint", issuer + "/oauth/par")
    json.add("end_session_endpoint", issuer + "/oauth/logout")
    if configuration.clientRegistration != nil { json.add("registration_endpoint", issuer + "/oauth/register") }
    // No registered parameter: clients of Handstamp know by it that the server is one of their own.
    json.add("handstamp_api", issuer + "/v1")
    // The same: `rotation_key` is accepted with codes and refresh tokens, and makes repeats safe.
    json.add("handstamp_rotation_keys", true)
    json.add("jwks_uri", issuer + "/.well-known/jwks.json")
    json.add("response_types_supported", ["code"])
    json.add("response_modes_supported", ["query"])
    json.add(
      "grant_types_supported",
      [
        "authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code", "client_credentials",
        MachineTokens.assertionGrant,
      ] + (configuration.former == nil ? [] : [FormerSessions.grantType]))
    json.add("prompt_values_supported", PromptRequirements.Prompt.allCases.map(\.rawValue))
    json.add("code_challenge_methods_supported", ["S256"])
    let methods = ["client_secret_basic", "client_secret_post", "private_key_jwt"]
    let signatures = JWSAlgorithm.allCases.map(\.rawValue)
    json.add("token_endpoint_auth_methods_supported", ["none"] + methods)
    json.add("token_endpoint_auth_signing_alg_values_supported", signatures)
    json.add("revocation_endpoint_auth_methods_supported", ["none"] + methods)
    json.add("revocation_endpoint_auth_signing_alg_values_supported", signatures)
    json.add("introspection_endpoint_auth_methods_supported", methods)
    json.add("introspection_endpoint_auth_signing_alg_values_supported", signatures)
    json.add("client_id_metadata_document_supported", configuration.clientDocuments != nil)
    json.add("authorization_response_iss_parameter_supported", true)
    json.add("dpop_signing_alg_values_supported", [AccessChallenge.proofAlgorithm])
    json.add("access_token_signing_alg_values_supported", algorithms.map(\.rawValue))
    json.add("subject_types_supported", ["public"])
    json.add("id_token_signing_alg_values_supported", algorithms.map(\.rawValue))
    json.add(
      "claims_supported",
      ["iss", "sub", "aud", "exp", "iat", "auth_time", "acr", "amr", "nonce", "sid", "at_hash"] + AccountClaims.names)
    json.add("acr_values_supported", AuthenticationContext.allCases.reversed().map(\.rawValue))
    json.add("claims_parameter_supported", false)
    json.add("request_parameter_supported", false)
    json.add("request_uri_parameter_supported", false)
    json.add("backchannel_logout_supported", true)
    json.add("backchannel_logout_session_supported", true)
    let strangers = [configuration.clientDocuments?.rights, configuration.clientRegistration].compactMap(\.self)
    let scopes = Set(configuration.clients.flatMap(\.scopes) + strangers.flatMap(\.scopes)).sorted()
    if !scopes.isEmpty { json.add("scopes_supported", scopes) }
    self.init(json.finished, cacheControl: "public, max-age=300", isForAllOrigins: true)
  }

  /// The metadata of a resource (RFC 9728).
  init(_ resource: ResourceDocument) {
    self.init(resource.json, cacheControl: "public, max-age=300", isForAllOrigins: true)
  }

  /// Returns the path of the document, which precedes the issuer's path (RFC 8414 section 3.1).
  static func metadataPath(of issuer: String) -> String {
    WebURL(issuer).map { ResourceDocument.path("oauth-authorization-server", of: $0) }
      ?? "/.well-known/oauth-authorization-server"
  }
}
#endif
