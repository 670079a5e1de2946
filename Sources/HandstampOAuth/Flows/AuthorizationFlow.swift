import Foundation
import HandstampCore
import HandstampSupport

/// One sign-in by browser (RFC 6749 section 4.1 with RFC 7636): the URL to open, and the checks of the response. Valid for one
/// response; every sign-in creates a new flow.
public struct AuthorizationFlow: Sendable {
  /// The URL to open in the system's browser (RFC 8252 section 4).
  public let url: String
  /// The URI that the response is sent to.
  public let redirectURI: String
  let proof: CodeProof
  let nonce: String?
  private let state: String
  private let issuer: String
  private let namesIssuer: Bool

  init(client: OAuthClient, metadata: ServerMetadata, redirectURI: String) throws(SessionError) {
    guard let endpoint = metadata.authorizationEndpoint else {
      throw metadata.missing("authorization_endpoint", for: "sign-in by browser")
    }
    self.redirectURI = redirectURI
    proof = CodeProof()
    state = Base64URL.encode(randomBytes(16))
    nonce = client.scopes.contains("openid") ? Base64URL.encode(randomBytes(16)) : nil
    issuer = metadata.issuer
    namesIssuer = metadata.namesIssuerInAnswers
    var fields = [
      ("response_type", "code"), ("client_id", client.id), ("redirect_uri", redirectURI), ("state", state),
      ("code_challenge", proof.challenge), ("code_challenge_method", "S256"),
    ]
    if !client.scopes.isEmpty { fields.append(("scope", client.scopes.joined(separator: " "))) }
    if let nonce { fields.append(("nonce", nonce)) }
    let own = Set(fields.map(\.0)).union(["scope", "nonce", "request", "request_uri", "response_mode"])
    for (name, value) in client.parameters.sorted(by: { $0.key < $1.key }) where !own.contains(name) {
      fields.append((name, value))
    }
    for resource in client.resources { fields.append(("resource", resource)) }
    url = Address.adding(fields, to: endpoint)
  }

  /// Returns the code in the URL that the browser was redirected to.
  ///
  /// - Throws: ``SessionError/invalidResponse(_:)`` if the response belongs to another request (`state`, RFC 6749
  ///   section 10.12) or comes from another server (`iss`, RFC 9207 section 2.4);
  ///   ``SessionError/refused(code:detail:)`` with the server's code, such as `access_denied`.
  func code(in callback: Secret) throws(SessionError) -> Secret {
    try callback.withExposed { text throws(SessionError) in try code(in: text) }
  }

  private func code(in callback: String) throws(SessionError) -> Secret {
    let place = AuthorizationFlow.place(callback)
    guard [redirectURI, redirectURI + "/"].contains(where: { AuthorizationFlow.place($0) == place }) else {
      throw .invalidResponse("the browser was redirected to another URL")
    }
    var fields: [String: String] = [:]
    for (name, value) in AuthorizationFlow.query(of: callback) where AuthorizationFlow.parameters.contains(name) {
      guard fields.updateValue(value, forKey: name) == nil else {
        throw .invalidResponse("the parameter \(name) of the response is duplicated")
      }
    }
    guard let state = fields["state"], Secret(state) == Secret(self.state) else {
      // Without a state it could come from anywhere; nothing is taken from it but the words.
      if fields["state"] == nil, fields["code"] == nil, let error = fields["error"] {
        throw .refused(code: error, detail: fields["error_description"])
      }
      throw .invalidResponse("the response belongs to another request")
    }
    guard fields["iss"].map({ $0 == issuer }) ?? !namesIssuer else {
      throw .invalidResponse("the response comes from another server")
    }
    if let error = fields["error"] { throw .refused(code: error, detail: fields["error_description"]) }
    guard let code = fields["code"], !code.isEmpty else { throw .invalidResponse("the response has no code") }
    return Secret(code)
  }

  /// Those that count; all others are ignored (RFC 6749 section 4.1.2).
  private static let parameters: Set = ["code", "state", "iss", "error", "error_description"]

  /// The pairs of the query, which is a form (RFC 6749 section 4.1.2): a plus sign in it is a space.
  private static func query(of address: String) -> [(String, String)] {
    guard let mark = address.firstIndex(of: "?") else { return [] }
    let query = address[address.index(after: mark)...].prefix { $0 != "#" }
    return query.split(separator: "&").map { pair in
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { part in
        let text = String(part).replacing("+", with: " ")
        return text.removingPercentEncoding ?? text
      }
      return (parts[0], parts.count > 1 ? parts[1] : "")
    }
  }

  /// Returns a URL without its query and fragment.
  private static func place(_ address: String) -> Substring { address.prefix { $0 != "?" && $0 != "#" } }

  /// The scheme that ``HandstampCore/RedirectReceiver`` waits for.
  var callbackScheme: String { String(redirectURI.prefix { $0 != ":" }) }
}
