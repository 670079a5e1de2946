import Foundation
import HandstampCore

/// What an authorization server says of itself (RFC 8414 section 2, OpenID Connect Discovery 1.0 section 3).
public struct ServerMetadata: Sendable, Hashable {
  public let issuer: String
  public let tokenEndpoint: String
  /// Nothing where nobody can sign in by a browser.
  public let authorizationEndpoint: String?
  /// Nothing where there is no sign-in by a code on another device (RFC 8628).
  public let deviceAuthorizationEndpoint: String?
  /// Nothing where a session cannot be ended from here (RFC 7009): the server is then not told of a sign-out.
  public let revocationEndpoint: String?
  /// Who somebody is (OpenID Connect Core 1.0 section 5.3).
  public let userInfoEndpoint: String?
  /// Where a token is asked about (RFC 7662); `nil`: the server does not offer it.
  public let introspectionEndpoint: String?
  /// What may be asked for; nothing where the server does not say.
  public let scopes: [String]?
  /// Whether every answer to a browser must name the issuer (RFC 9207).
  public let namesIssuerInAnswers: Bool
  /// How a client shows its secret at the token endpoint.
  let takesBasicAuthentication: Bool
  /// The same at the revocation endpoint. A server that does not say takes what its token endpoint takes: RFC 8414's default,
  /// `client_secret_basic`, is not what such servers do.
  let takesBasicAuthenticationForRevocation: Bool
  /// The same at the introspection endpoint.
  let takesBasicAuthenticationForIntrospection: Bool

  /// Reads what was found for `issuer`.
  ///
  /// - Throws: ``HandstampCore/SessionError/invalidAnswer(_:)`` for another issuer's document (RFC 8414 section 3.3: an
  ///   attacker's could send tokens elsewhere), one without a token endpoint, a server that offers PKCE without S256, and
  ///   endpoints that are neither `https` nor on loopback.
  init(_ body: [UInt8], of issuer: String) throws(SessionError) {
    guard let document = try? JSONDecoder().decode(Document.self, from: Data(body)) else {
      throw .invalidAnswer("the answer is not metadata")
    }
    guard document.issuer == issuer else {
      let named = document.issuer
      let isShown = named.utf8.count <= 200 && named.utf8.allSatisfy { (33...126).contains($0) }
      throw .invalidAnswer("the metadata is of another issuer" + (isShown ? ", \(named)" : ""))
    }
    if let methods = document.code_challenge_methods_supported, !methods.contains("S256") {
      throw .invalidAnswer("the server takes no S256 challenge")
    }
    self.issuer = issuer
    guard let token = try ServerMetadata.checked(document.token_endpoint) else {
      throw .invalidAnswer("the metadata names no token endpoint")
    }
    tokenEndpoint = token
    authorizationEndpoint = try ServerMetadata.checked(document.authorization_endpoint)
    deviceAuthorizationEndpoint = try ServerMetadata.checked(document.device_authorization_endpoint)
    revocationEndpoint = try ServerMetadata.checked(document.revocation_endpoint)
    userInfoEndpoint = try ServerMetadata.checked(document.userinfo_endpoint)
    introspectionEndpoint = try ServerMetadata.checked(document.introspection_endpoint)
    scopes = document.scopes_supported
    namesIssuerInAnswers = document.authorization_response_iss_parameter_supported ?? false
    let methods = document.token_endpoint_auth_methods_supported
    // `client_secret_basic` is what a server takes that says nothing (RFC 8414 section 2).
    takesBasicAuthentication = methods.map { $0.contains("client_secret_basic") } ?? true
    let forRevocation = document.revocation_endpoint_auth_methods_supported ?? methods
    takesBasicAuthenticationForRevocation = forRevocation.map { $0.contains("client_secret_basic") } ?? true
    let forIntrospection = document.introspection_endpoint_auth_methods_supported ?? methods
    takesBasicAuthenticationForIntrospection = forIntrospection.map { $0.contains("client_secret_basic") } ?? true
  }

  /// Whether the client's secret goes into the header there, and not into the form.
  func takesBasicAuthentication(at endpoint: String) -> Bool {
    switch endpoint {
    // An endpoint that serves as several is a token endpoint first.
    case tokenEndpoint: takesBasicAuthentication
    case revocationEndpoint: takesBasicAuthenticationForRevocation
    case introspectionEndpoint: takesBasicAuthenticationForIntrospection
    // RFC 8628 section 3.1: as at the token endpoint.
    default: takesBasicAuthentication
    }
  }

  private static func checked(_ address: String?) throws(SessionError) -> String? {
    guard let address else { return nil }
    guard Address.isTrusted(address) else { throw .invalidAnswer("an endpoint that is not https") }
    return address
  }

  private struct Document: Decodable {
    var issuer: String
    var token_endpoint: String?
    var authorization_endpoint: String?
    var device_authorization_endpoint: String?
    var revocation_endpoint: String?
    var userinfo_endpoint: String?
    var introspection_endpoint: String?
    var scopes_supported: [String]?
    var authorization_response_iss_parameter_supported: Bool?
    var code_challenge_methods_supported: [String]?
    var token_endpoint_auth_methods_supported: [String]?
    var revocation_endpoint_auth_methods_supported: [String]?
    var introspection_endpoint_auth_methods_supported: [String]?
  }
}

/// Addresses as OAuth takes them.
enum Address {
  /// Whether secrets may be sent there: `https`, or `http` to this very machine (RFC 8252 section 8.3).
  static func isTrusted(_ address: String) -> Bool {
    guard let parts = URLComponents(string: address), let host = parts.host?.lowercased(), !host.isEmpty,
      parts.user == nil, parts.fragment == nil
    else { return false }
    switch parts.scheme?.lowercased() {
    case "https": return true
    case "http": return ["127.0.0.1", "localhost", "::1", "[::1]"].contains(host)
    default: return false
    }
  }

  /// Where the metadata of `issuer` may stand, the likeliest first: RFC 8414 puts the well-known part before the issuer's
  /// path (section 3.1), OpenID Connect after it; servers are seen that do it the other way round (section 5).
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

  /// An address without its scheme and host.
  static func path(of address: String) -> Substring {
    guard let start = address.range(of: "://"), let slash = address[start.upperBound...].firstIndex(of: "/") else {
      return address[...]
    }
    return address[slash...]
  }

  /// Percent-encodes what is not unreserved (RFC 3986 section 2.3).
  static func escaped(_ text: String) -> String {
    String(decoding: FormBody([("", Secret(text))]).bytes.dropFirst(), as: UTF8.self)
  }

  /// `address` with `fields` added to its query.
  static func adding(_ fields: [(String, String)], to address: String) -> String {
    let query = fields.map { escaped($0) + "=" + escaped($1) }.joined(separator: "&")
    return address + (address.contains("?") ? "&" : "?") + query
  }
}
