#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird

/// `/oauth/par`: a client sends its authorization request to the server itself (RFC 9126).
struct PushedRequestController: Sendable {
  let authentication: ClientAuthentication

  /// The longest request, in bytes: as much as browsers and proxies take in an address.
  private static let longest = 8192

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.post("/oauth/par", use: push)
  }

  @concurrent func push(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let (form, client) = try await authentication.call(request, context)
    guard let client, client.flows.contains(.code) else { throw OAuthError("unauthorized_client") }
    let limits = authentication.limits
    // A confidential client is a web application, whose one address serves all its users.
    let address = !client.isConfidential ? limits.client(of: request, context) : nil
    try limits.take(.pushedRequests, from: address, about: client.id, .own)
    let parameters = form.encoded(leaving: ["client_secret", "client_assertion", "client_assertion_type"])
    guard parameters.utf8.count <= PushedRequestController.longest else {
      throw OAuthError.invalidRequest("the request is longer than \(PushedRequestController.longest) bytes")
    }
    // Refused now rather than in the browser (section 2.1).
    _ = try AuthorizationRequest(
      parameters, of: try await AuthorizationRequest.described(client, authentication.clients))
    try limits.take(.pushedRequests, from: nil, .shared)
    let reference = try await authentication.registry.push(
      parameters: parameters, of: client.id, now: authentication.clock.now)
    var json = JSONText()
    json.add("request_uri", PushedReference.prefix + reference.secret.withExposed { $0 })
    json.add("expires_in", PushedRequest.life.components.seconds)
    return .oauth(json, status: .created)
  }
}

/// The `request_uri` of a pushed request (RFC 9126 section 2.2).
enum PushedReference {
  static let prefix = "urn:ietf:params:oauth:request_uri:"

  /// Returns the secret part of a reference; `nil` for any other text.
  static func secret(_ uri: String) -> Secret? {
    uri.hasPrefix(prefix) ? Secret(String(uri.dropFirst(prefix.count))) : nil
  }
}
#endif
