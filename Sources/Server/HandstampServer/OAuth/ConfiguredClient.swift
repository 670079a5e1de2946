#if Server
import Crypto
import Foundation
public import HandstampCore
public import HandstampRegistry
import HandstampJOSE
import HandstampSupport

/// An OAuth client (RFC 6749 section 2) that users can allow to access their accounts, as configured by the operator,
/// or as it describes itself: in a document, or when it registers (RFC 7591).
public struct ConfiguredClient: Sendable, Hashable {
  /// A flow by which a client gets tokens. The password and implicit grants are not supported (RFC 9700 section 2).
  public enum Flow: String, Sendable, Hashable, CaseIterable, Codable {
    /// Authorization code with PKCE (S256), in a browser.
    case code = "authorization_code"
    /// Device authorization grant: a code entered on another device (RFC 8628).
    case device = "device_code"
    /// Client credentials: tokens for the client itself, without a user (RFC 6749 section 4.4).
    case credentials = "client_credentials"
    /// Tokens for the client itself, in exchange for an ID token of one of its ``ConfiguredClient/trusts`` (RFC 7523 section 2.1).
    case assertion = "jwt_bearer"
    /// Refresh tokens of the former system, see ``FormerSystem``. Its users are not asked again: only for clients that had their consent
    /// there.
    case former = "former_session"

    /// Whether its tokens are the client's own. A client has no other flows beside it: a token's subject must never be taken for an
    /// account (RFC 9068 section 5).
    var isForMachines: Bool { self == .credentials || self == .assertion }
  }

  /// Protection against the use of an intercepted code, besides the client's secret (RFC 9700 section 2.1.1).
  public enum CodeProtection: String, Sendable, Hashable, CaseIterable, Codable {
    /// PKCE with S256 (RFC 7636).
    case pkce
    /// A `nonce`, which the client compares with that of the ID token; or PKCE. For confidential clients that have no PKCE.
    case nonce
    /// Either of them if the client sends it. For confidential clients that have neither.
    case none
  }

  /// The `client_id`: printable ASCII.
  public internal(set) var id: String
  /// The display name, shown when users are asked for access.
  public internal(set) var name: String
  /// The SHA-256 of the client secret. `nil` for a client that has keys instead, and for a public one, such as an app or a command.
  public let secretHash: [UInt8]?
  /// The public keys by which it authenticates itself with assertions (`private_key_jwt`, RFC 7523 section 2.2).
  let keys: [JWK]
  /// The issuers whose ID tokens it may exchange for its own tokens.
  public let trusts: [TrustedIssuer]
  /// The allowed redirect URIs, compared byte by byte. `http` on a loopback address, such as 127.0.0.1 or [::1], without a port
  /// matches any port (RFC 8252 section 7.3), and for a public client so does `localhost`, which many use instead.
  public internal(set) var redirectURIs: [String]
  public let flows: Set<Flow>
  /// The scopes that it may request. With `openid` it gets ID tokens, with `offline_access` its sessions outlast the browser's.
  public internal(set) var scopes: [String]
  /// The APIs that it may request tokens for (RFC 8707), besides this server's own.
  public let audiences: [String]
  /// Whether its tokens have the same rights as those of the server's own app: listing and ending sessions, changing the
  /// password, deleting the account. Otherwise they only allow `GET /v1/me`, with the scope `profile`.
  public let isFirstParty: Bool
  /// Whether it may introspect all access tokens of this server, as an API that accepts them (RFC 7662). Other clients with a
  /// secret may introspect the access tokens issued to them, and those whose audience is their ID.
  public let introspects: Bool
  /// The algorithm that signs its access tokens: ES256, unless the APIs that it calls know only RS256.
  public let accessTokenSigning: SigningKeys.Algorithm
  /// The algorithm that signs its ID tokens and logout tokens: ES256, unless it knows only RS256.
  public let idTokenSigning: SigningKeys.Algorithm
  /// How long its refresh token gets the same successor again after it was rotated, if the client sends no rotation key, has no
  /// secret and proves no possession of a key: 2 min, at most half the lifetime of access tokens. With zero, one lost response ends
  /// the session; whatever it is, a thief who refreshes within it after each refresh of the owner is not noticed.
  public let refreshOverlap: Duration
  /// The protection that its authorization requests must have. PKCE by default, which public clients need.
  public let codeProtection: CodeProtection
  /// Whether its ID tokens say what its scopes allow of the account, such as `email`, like `/oauth/userinfo`. By default those of
  /// confidential clients do: many of them ask nowhere else.
  public let hasClaimsInIDTokens: Bool
  /// The origins of its pages, such as `https://app.example.org`, which may read the responses of the OAuth endpoints (CORS).
  public let webOrigins: [String]
  /// Where it hears that a session has ended (OpenID Connect Back-Channel Logout 1.0): an `https` URL, or `http` on this machine.
  public let backChannelLogoutURI: String?
  /// Where browsers may be sent after it has signed its user out (OpenID Connect RP-Initiated Logout 1.0), compared byte by byte.
  public let postLogoutRedirectURIs: [String]
  /// How strong the sign-ins of its users have to be. People without a second factor are led to set one up. `nil` for any.
  public let requiredContext: AuthenticationContext?

  /// - Parameters:
  ///   - jwks: its public keys as a JWK Set (RFC 7517), for P-256 or RSA; `nil` for none.
  /// - Throws: ``ServerConfigurationError/client(_:)`` if the configuration is invalid or unsafe.
  public init(
    id: String, name: String? = nil, secretHash: [UInt8]? = nil, redirectURIs: [String] = [],
    flows: Set<Flow> = [.code], scopes: [String] = [], audiences: [String] = [], isFirstParty: Bool = false,
    introspects: Bool = false, accessTokenSigning: SigningKeys.Algorithm = .es256,
    idTokenSigning: SigningKeys.Algorithm = .es256, backChannelLogoutURI: String? = nil,
    postLogoutRedirectURIs: [String] = [], refreshOverlap: Duration = RefreshTerms.overlap,
    codeProtection: CodeProtection = .pkce, hasClaimsInIDTokens: Bool? = nil, webOrigins: [String] = [],
    jwks: String? = nil, trusts: [TrustedIssuer] = [], requiredContext: AuthenticationContext? = nil
  ) throws(ServerConfigurationError) {
    guard !id.isEmpty, id.utf8.count <= 200, id.utf8.allSatisfy({ (33...126).contains($0) }) else {
      throw .client(.badID)
    }
    guard secretHash.map({ $0.count == 32 }) ?? true else { throw .client(.badSecret(id)) }
    let keys = jwks.map { JWKSet(Array($0.utf8))?.keys ?? [] } ?? []
    guard jwks == nil || !keys.isEmpty else { throw .client(.badKeys(id)) }
    let isConfidential = secretHash != nil || !keys.isEmpty
    guard !flows.contains(.credentials) || isConfidential else { throw .client(.noCredentials(id)) }
    guard flows.contains(.assertion) == !trusts.isEmpty else { throw .client(.noTrust(id)) }
    if let trust = trusts.first(where: { !$0.isUsable }) { throw .client(.badTrust(id, trust.issuer)) }
    guard flows.allSatisfy(\.isForMachines) || !flows.contains(where: \.isForMachines) else {
      throw .client(.machineWithUsers(id))
    }
    for uri in redirectURIs + postLogoutRedirectURIs {
      guard ConfiguredClient.isSafe(uri) else { throw .client(.badRedirect(id, uri)) }
    }
    guard !flows.contains(.code) || !redirectURIs.isEmpty else { throw .client(.noRedirect(id)) }
    guard refreshOverlap >= .zero, refreshOverlap <= .seconds(86_400) else { throw .client(.badOverlap(id)) }
    // The feed of ended sessions has no form for an assertion.
    guard !introspects || secretHash != nil else { throw .client(.noSecret(id)) }
    for scope in scopes {
      // RFC 6749 section 3.3.
      let isToken = !scope.isEmpty && scope.utf8.allSatisfy { (33...126).contains($0) && $0 != 34 && $0 != 92 }
      guard isToken else { throw .client(.badScope(id, scope)) }
    }
    // The code of a public client can be redeemed with the code alone.
    guard codeProtection == .pkce || isConfidential else { throw .client(.noPKCE(id)) }
    guard codeProtection != .nonce || scopes.contains("openid") else { throw .client(.noNonce(id)) }
    if let text = webOrigins.first(where: { !WebOrigins.isGood($0) }) { throw .client(.badOrigin(id, text)) }
    if let uri = backChannelLogoutURI {
      guard scopes.contains("openid") else { throw .client(.noOpenID(id)) }
      guard ConfiguredClient.isSafe(uri), let origin = Origin(uri), ["http", "https"].contains(origin.scheme) else {
        throw .client(.badRedirect(id, uri))
      }
    }
    self.id = id
    self.name = name ?? id
    self.secretHash = secretHash
    self.keys = keys
    self.trusts = trusts
    self.redirectURIs = redirectURIs
    self.flows = flows
    self.scopes = scopes
    self.audiences = audiences
    self.isFirstParty = isFirstParty
    self.introspects = introspects
    self.accessTokenSigning = accessTokenSigning
    self.idTokenSigning = idTokenSigning
    self.backChannelLogoutURI = backChannelLogoutURI
    self.postLogoutRedirectURIs = postLogoutRedirectURIs
    self.refreshOverlap = refreshOverlap
    self.codeProtection = codeProtection
    self.hasClaimsInIDTokens = hasClaimsInIDTokens ?? isConfidential
    self.webOrigins = webOrigins
    self.requiredContext = requiredContext
  }

  /// Whether it can authenticate itself, by a secret or by a key.
  public var isConfidential: Bool { secretHash != nil || !keys.isEmpty }

  /// Whether it has registered itself (RFC 7591), and no operator knows it.
  package var hasRegisteredItself: Bool { RegisteredClient.isID(id) }

  /// Returns the `jwks` of a client from a file: a JWK Set as it is, or a public key in PEM. `nil` for any other text.
  package static func keySet(_ text: String) -> String? {
    if let set = JWKSet(Array(text.utf8)) { return set.keys.isEmpty ? nil : text }
    return JWSPublicKey(pem: text).map { String(decoding: JWKSet([JWK($0)]).json, as: UTF8.self) }
  }

  /// Returns whether `secret` is this client's secret.
  func has(_ secret: Secret) -> Bool {
    guard let secretHash else { return false }
    return Secret(bytes: ConfiguredClient.hash(of: secret)) == Secret(bytes: secretHash)
  }

  /// Returns the ``secretHash`` of a secret, which must be random: it is not salted.
  public static func hash(of secret: Secret) -> [UInt8] {
    secret.withExposedBytes { Array(SHA256.hash(data: $0)) }
  }

  /// Returns whether a browser may be redirected to `uri`.
  func allows(redirect uri: String) -> Bool {
    // A confidential client is a web application, whose port stays the same.
    let isAnyPort = !isConfidential || Origin(uri)?.host != "localhost"
    let withoutPort = isAnyPort ? ConfiguredClient.withoutPort(uri) : nil
    return redirectURIs.contains { registered in
      // Compare bytes: `==` on strings treats a Kelvin sign as a K.
      registered.utf8.elementsEqual(uri.utf8) || withoutPort.map { registered.utf8.elementsEqual($0.utf8) } ?? false
    }
  }

  /// Returns the scopes in `text` that the client may request, each once, or all of its scopes if `text` has none. The others are
  /// left out, as the response tells: clients ask for what other providers have (RFC 6749 section 3.3, OpenID Connect Core 1.0
  /// section 3.1.2.1).
  ///
  /// - Returns: `nil` if none is left of those that were asked for.
  func granted(_ text: String?) -> ScopeGrant? {
    let wanted = text?.split(separator: " ").map(String.init) ?? []
    guard !wanted.isEmpty else { return ScopeGrant(scope: scopes.joined(separator: " "), leftOut: []) }
    var (asked, leftOut): ([String], [String]) = ([], [])
    for scope in wanted where !asked.contains(scope) {
      if scopes.contains(scope) { asked.append(scope) } else { leftOut.append(scope) }
    }
    guard !asked.isEmpty else { return nil }
    return ScopeGrant(scope: asked.joined(separator: " "), leftOut: leftOut)
  }

  /// Whether a redirect there reaches this client and no other program, so that what the user allowed before need not be asked again
  /// (RFC 8252 section 8.6): the client has a secret, or the address is a web server's.
  func isCertain(at redirect: String) -> Bool {
    isConfidential || (Origin(redirect).map { $0.scheme == "https" } ?? false)
  }

  /// Returns the `http` URI of a loopback address without its port; `nil` for any other, and for one without a port.
  static func withoutPort(_ uri: String) -> String? {
    guard let origin = Origin(uri), origin.scheme == "http", Loopback.contains(host: origin.host) else { return nil }
    let start = Origin(scheme: "http", host: origin.host, port: 80).text
    let port = ":\(origin.port)"
    return uri.hasPrefix(start + port) ? start + uri.dropFirst(start.count + port.count) : nil
  }

  /// Returns whether `uri` is an absolute URI without a fragment (RFC 6749 section 3.1.2): `https`, `http` to this machine
  /// only, or an app's custom scheme with a dot (RFC 8252 section 7.1).
  static func isSafe(_ uri: String) -> Bool {
    guard uri.utf8.allSatisfy({ (33...126).contains($0) }), !uri.contains("#"), let parts = URLComponents(string: uri),
      let scheme = parts.scheme?.lowercased(), parts.user == nil, parts.password == nil
    else { return false }
    switch scheme {
    case "https": return parts.host?.isEmpty == false
    case "http": return Origin(uri).map { Loopback.contains(host: $0.host) } ?? false
    default: return scheme.contains(".")
    }
  }
}

/// The scopes that a client gets of those that it asks for.
struct ScopeGrant: Sendable {
  var scope: String
  /// Those that it may not request.
  var leftOut: [String]
}

extension ConfiguredClient {
  /// An error in the configuration of a client. The first text is its ID.
  public enum Defect: Sendable, Hashable {
    /// The ID is empty, or not printable ASCII.
    case badID
    /// The secret's hash is not a SHA-256.
    case badSecret(String)
    /// The redirect URI is not safe.
    case badRedirect(String, String)
    /// The keys are not a JWK Set with a key for P-256 or RSA.
    case badKeys(String)
    /// Client credentials require a secret or keys.
    case noCredentials(String)
    /// The flow of assertions and the trusted issuers require each other.
    case noTrust(String)
    /// The trusted issuer is no `https` URL, or has no audience, or no claims.
    case badTrust(String, String)
    /// A client with tokens of its own has users as well.
    case machineWithUsers(String)
    /// The code flow requires a redirect URI.
    case noRedirect(String)
    /// A client that introspects all tokens, and may follow ended sessions, requires a secret.
    case noSecret(String)
    case badScope(String, String)
    /// The overlap is negative or longer than a day.
    case badOverlap(String)
    /// The client is to be told of ended sessions, but lacks the scope `openid`, without which it has no ID token.
    case noOpenID(String)
    /// A client without a secret has to use PKCE.
    case noPKCE(String)
    /// A nonce needs the scope `openid`: without it there is no ID token to repeat it.
    case noNonce(String)
    /// The origin of its pages is not an `https` origin as browsers write it.
    case badOrigin(String, String)
    /// A client is to be told of ended sessions, or trusts an issuer, and the server has no transport to do it.
    case noTransport(String)
    /// The client asks for tokens with RS256, and the server has no RSA key. See ``SigningKeys/withRSAKey()``.
    case noSigningKey(String)
    /// The client requires a second factor, and the server has no passkeys: then no one can have one.
    case noPasskeys(String)
    /// Two clients have this ID, or it is the ID of the server's own app.
    case twice(String)
  }
}

extension ConfiguredClient.Defect: CustomStringConvertible {
  public var description: String {
    switch self {
    case .badID: "a client ID is empty, or not printable ASCII"
    case .badSecret(let id): "client \(id): secretSHA256 is not a SHA-256 in hexadecimal"
    case .badRedirect(let id, let uri): "client \(id): redirect URI not allowed: \(uri)"
    case .badKeys(let id): "client \(id): jwks is not a JWK Set with a public key for P-256 or RSA"
    case .noCredentials(let id): "client \(id): client_credentials needs a secretSHA256 or a jwks"
    case .noTrust(let id): "client \(id): jwt_bearer and trusts need each other"
    case .badTrust(let id, let issuer):
      "client \(id): a trusted issuer needs an https URL, an audience and at least one claim: \(issuer)"
    case .machineWithUsers(let id):
      "client \(id): client_credentials and jwt_bearer need a client of their own, without other flows"
    case .noRedirect(let id): "client \(id): the authorization code flow needs a redirect URI"
    case .noSecret(let id): "client \(id): introspects needs a secretSHA256, which the feed of ended sessions asks for"
    case .badScope(let id, let scope): "client \(id): invalid scope \"\(scope)\""
    case .badOverlap(let id): "client \(id): refreshOverlap is not a number of seconds from 0 to 86400"
    case .noOpenID(let id): "client \(id): backChannelLogoutURI needs the scope openid"
    case .noPKCE(let id): "client \(id): without a secretSHA256, codeProtection has to be pkce"
    case .noNonce(let id): "client \(id): codeProtection nonce needs the scope openid"
    case .badOrigin(let id, let text): "client \(id): not the https origin of a web application: \(text)"
    case .noTransport(let id): "client \(id): backChannelLogoutURI and trusts need a transport"
    case .noSigningKey(let id): "client \(id): RS256 needs an RSA key, and the signing key file has none"
    case .noPasskeys(let id): "client \(id): acr needs passkeys, and the server has none"
    case .twice(let id): "duplicate client \(id)"
    }
  }
}
#endif
