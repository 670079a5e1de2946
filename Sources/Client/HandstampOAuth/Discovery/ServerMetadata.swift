import Foundation
import HandstampCore
import HandstampSupport

/// An authorization server's metadata (RFC 8414 section 2, OpenID Connect Discovery 1.0 section 3).
public struct ServerMetadata: Sendable, Hashable {
  /// The issuer's URL, as the server publishes it.
  public let issuer: String
  /// The URL of the token endpoint.
  public let tokenEndpoint: String
  /// The URL of the sign-in page; `nil` if the server does not offer sign-in by browser.
  public let authorizationEndpoint: String?
  /// The URL for sign-in with a code on another device (RFC 8628); `nil` if the server does not offer it.
  public let deviceAuthorizationEndpoint: String?
  /// The URL that ends a session (RFC 7009); `nil` if the server does not offer it: a sign-out then takes effect only on this
  /// device.
  public let revocationEndpoint: String?
  /// The URL at which a program registers itself as a client (RFC 7591); `nil` if the server does not offer it.
  package let registrationEndpoint: String?
  /// The URL of the userinfo endpoint (OpenID Connect Core 1.0 section 5.3); `nil` if the server does not offer it.
  public let userInfoEndpoint: String?
  /// The URL of the introspection endpoint (RFC 7662); `nil` if the server does not offer it.
  public let introspectionEndpoint: String?
  /// The URL of the page that ends the user's session in the browser (OpenID Connect RP-Initiated Logout 1.0); `nil` if the server
  /// does not offer it.
  public let endSessionEndpoint: String?
  /// The URL of the keys that sign ID tokens (RFC 7517 section 5); `nil` if the server does not name it.
  package let keysURL: String?
  /// The URL of Handstamp's own API, below which its paths are; `nil` for a server of another kind.
  package let handstampAPI: String?
  /// Whether the token endpoint accepts `rotation_key` with codes and refresh tokens, by Handstamp's own member
  /// `handstamp_rotation_keys`.
  package let supportsRotationKeys: Bool
  /// Whether the server speaks Handstamp's additions to the protocol.
  package var isHandstamp: Bool { handstampAPI != nil || supportsRotationKeys }
  /// Whether a client's ID may be the URL of a document that describes it (draft-ietf-oauth-client-id-metadata-document).
  package let acceptsClientDocuments: Bool
  /// The scopes that the server supports; `nil` if it does not list them.
  public let scopes: [String]?
  /// Whether the token endpoint exchanges tokens (RFC 8693).
  let exchangesTokens: Bool
  /// Whether every authorization response must name the issuer (RFC 9207).
  public let namesIssuerInResponses: Bool
  /// Whether the token endpoint accepts the client's secret in the `Authorization` header.
  let takesBasicAuthentication: Bool
  /// The same for the revocation endpoint. If the metadata does not say, the token endpoint's method is used: in practice such
  /// servers do not follow RFC 8414's default, `client_secret_basic`.
  let takesBasicAuthenticationForRevocation: Bool
  /// The same for the introspection endpoint.
  let takesBasicAuthenticationForIntrospection: Bool
  /// Other issuers that responses may name. `{tenantid}` in one stands for the ID of the user's tenant.
  private let otherNames: Set<String>
  /// The members whose URLs are neither `https` nor on loopback.
  private let untrustedEndpoints: Set<String>

  static let tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"

  /// The issuer that a document names, if it can be shown to a user.
  static func issuer(in body: [UInt8]) -> String? {
    let named = (try? JSONDecoder().decode([String: Member].self, from: Data(body)))?["issuer"]?.word
    return named.flatMap { $0.utf8.count <= 200 && $0.utf8.allSatisfy { (33...126).contains($0) } ? $0 : nil }
  }

  /// Parses the document that was found for `issuer`, and completes it with what is known of the provider.
  ///
  /// - Throws: ``SessionError/invalidResponse(_:)`` for another issuer's document (RFC 8414 section 3.3: an
  ///   attacker's document could send tokens elsewhere), a document without a token endpoint, a server with PKCE but without
  ///   S256, and a token endpoint that is neither `https` nor on loopback.
  init(
    _ body: [UInt8], of issuer: String, _ provider: OAuthProvider = OAuthProvider()
  ) throws(SessionError) {
    guard let document = try? JSONDecoder().decode([String: Member].self, from: Data(body)) else {
      throw .invalidResponse("not a metadata document")
    }
    guard let named = document["issuer"]?.word else { throw .invalidResponse("the metadata has no issuer") }
    let isTemplate = named != issuer && provider.hasTenants && ServerMetadata.isTemplate(named, of: issuer)
    guard isTemplate || issuer.isIssuer(published: named) else {
      let shown = ServerMetadata.issuer(in: body)
      throw .invalidResponse("the metadata belongs to another issuer" + (shown.map { ", \($0)" } ?? ""))
    }
    try self.init(document, of: isTemplate ? issuer : named, provider, isTemplate: isTemplate)
  }

  /// The metadata of a server that publishes none, or whose metadata is not to be used: all that is known of the provider.
  ///
  /// - Throws: As the other initializer.
  init(of issuer: String, _ provider: OAuthProvider) throws(SessionError) {
    let document = provider.scopes.map { ["scopes_supported": Member.list($0)] } ?? [:]
    try self.init(document, of: issuer, provider, isTemplate: false)
  }

  private init(
    _ document: [String: Member], of issuer: String, _ provider: OAuthProvider, isTemplate: Bool
  ) throws(SessionError) {
    if let methods = document["code_challenge_methods_supported"]?.list, !methods.contains("S256") {
      throw .invalidResponse("the server does not support PKCE with S256")
    }
    let named = document["issuer"]?.word.map { isTemplate ? [$0] : [] } ?? []
    otherNames = provider.otherNames.union(named)
    func place(_ endpoint: OAuthProvider.Endpoint, _ published: String?) -> String? {
      provider.endpoints[endpoint] ?? published ?? provider.missing[endpoint]
    }
    self.issuer = issuer
    guard let token = place(.token, document["token_endpoint"]?.word) else {
      throw .invalidResponse("the metadata has no token_endpoint")
    }
    guard Address.isTrusted(token) else { throw .invalidResponse("the token_endpoint is not an https URL") }
    tokenEndpoint = token
    var untrusted: Set<String> = []
    // One that is not used does no harm, so it is no reason to refuse the others.
    func trusted(_ name: String, _ endpoint: OAuthProvider.Endpoint? = nil) -> String? {
      let published = document[name]?.word
      let address = endpoint.map { place($0, published) } ?? published
      guard let address, !Address.isTrusted(address) else { return address }
      untrusted.insert(name)
      return nil
    }
    authorizationEndpoint = trusted("authorization_endpoint", .authorization)
    deviceAuthorizationEndpoint = trusted("device_authorization_endpoint", .device)
    revocationEndpoint = trusted("revocation_endpoint", .revocation)
    userInfoEndpoint = trusted("userinfo_endpoint", .userInfo)
    introspectionEndpoint = trusted("introspection_endpoint")
    registrationEndpoint = trusted("registration_endpoint")
    endSessionEndpoint = trusted("end_session_endpoint")
    keysURL = trusted("jwks_uri")
    handstampAPI = trusted("handstamp_api")
    untrustedEndpoints = untrusted
    supportsRotationKeys = document["handstamp_rotation_keys"]?.isTrue ?? false
    acceptsClientDocuments = document["client_id_metadata_document_supported"]?.isTrue ?? false
    scopes = document["scopes_supported"]?.list
    exchangesTokens = document["grant_types_supported"]?.list?.contains(ServerMetadata.tokenExchange) ?? false
    namesIssuerInResponses = document["authorization_response_iss_parameter_supported"]?.isTrue ?? false
    let methods = document["token_endpoint_auth_methods_supported"]?.list
    // The default is `client_secret_basic` (RFC 8414 section 2).
    func takesBasic(_ methods: [String]?) -> Bool {
      provider.clientSecretIn.map { $0 == .header } ?? methods?.contains("client_secret_basic") ?? true
    }
    takesBasicAuthentication = takesBasic(methods)
    takesBasicAuthenticationForRevocation = takesBasic(
      document["revocation_endpoint_auth_methods_supported"]?.list ?? methods)
    takesBasicAuthenticationForIntrospection = takesBasic(
      document["introspection_endpoint_auth_methods_supported"]?.list ?? methods)
  }

  // MARK: Names of the issuer

  private static let tenant = "{tenantid}"

  /// Whether `named` is the issuer of all tenants, and `issuer` that of several: `https://login.example/common/v2.0`.
  private static func isTemplate(_ named: String, of issuer: String) -> Bool {
    ["common", "organizations", "consumers"].contains { named.replacing(tenant, with: $0) == issuer }
  }

  /// Whether a response of this server may name `other` as its issuer.
  ///
  /// - Parameter tenant: The tenant that the response names, `tid`; `nil` if it names none. Then any one may stand there.
  package func isNamed(_ other: String, tenant: String?) -> Bool {
    if other.utf8.elementsEqual(issuer.utf8) && !isForTenants
      || otherNames.contains(other) && !other.contains(ServerMetadata.tenant)
    {
      return true
    }
    return otherNames.contains { template in
      let parts = template.components(separatedBy: ServerMetadata.tenant)
      guard parts.count == 2, other.hasPrefix(parts[0]), other.hasSuffix(parts[1]) else { return false }
      let name = other.dropFirst(parts[0].count).dropLast(parts[1].count)
      return other.count > parts[0].count + parts[1].count && UUID(uuidString: String(name)) != nil
        && name == tenant ?? String(name)
    }
  }

  /// The issuer without its scheme, as the name of an account whose user is not known.
  var issuerName: String { String(issuer.drop { $0 != ":" }.dropFirst(3)) }

  private var isForTenants: Bool { otherNames.contains { $0.contains(ServerMetadata.tenant) } }

  /// Whether the client's secret goes into the header of requests to `endpoint`, rather than into the form.
  func takesBasicAuthentication(at endpoint: String) -> Bool {
    switch endpoint {
    // An endpoint with several roles is a token endpoint first.
    case tokenEndpoint: takesBasicAuthentication
    case revocationEndpoint: takesBasicAuthenticationForRevocation
    case introspectionEndpoint: takesBasicAuthenticationForIntrospection
    // RFC 8628 section 3.1: as at the token endpoint.
    default: takesBasicAuthentication
    }
  }

  /// The error of a program that needs an endpoint which is missing.
  func missing(_ name: String, for feature: String) -> SessionError {
    untrustedEndpoints.contains(name)
      ? .invalidResponse("the \(name) is not an https URL") : .unsupported(feature)
  }
}

/// URLs as OAuth requires them.
enum Address {
  /// Whether secrets may be sent there: `https`, or `http` to this machine (RFC 8252 section 8.3).
  static func isTrusted(_ address: String) -> Bool {
    !address.contains("#") && Origin(address)?.isTrustworthy == true
  }

  /// Returns the possible locations of the metadata of `issuer`, most likely first: RFC 8414 puts the well-known part before
  /// the issuer's path (section 3.1), OpenID Connect after it; some servers do it the other way round (section 5).
  static func metadata(of issuer: String) -> [String] {
    guard isTrusted(issuer), let parts = URLComponents(string: issuer), parts.query == nil,
      let start = issuer.range(of: "://")
    else { return [] }
    let rest = issuer[start.upperBound...]
    let slash = rest.firstIndex(of: "/") ?? rest.endIndex
    let origin = issuer[..<slash]
    var path = rest[slash...]
    while path.hasSuffix("/") { path = path.dropLast() }
    let (oauth, openID) = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")
    let likely = ["\(origin)\(oauth)\(path)", "\(origin)\(path)\(openID)"]
    return path.isEmpty ? likely : likely + ["\(origin)\(openID)\(path)", "\(origin)\(path)\(oauth)"]
  }

  /// Returns a URL without its scheme and host.
  static func path(of address: String) -> Substring {
    guard let start = address.range(of: "://"), let slash = address[start.upperBound...].firstIndex(of: "/") else {
      return address[...]
    }
    return address[slash...]
  }

  /// Returns `address` with `fields` added to its query.
  static func adding(_ fields: [(String, String)], to address: String) -> String {
    let query = fields.map { PercentEncoding.encode($0) + "=" + PercentEncoding.encode($1) }.joined(separator: "&")
    return address + (address.contains("?") ? "&" : "?") + query
  }
}
