#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird
import Logging

/// `/oauth/register`: a program of the user's own machine registers itself as a public client (RFC 7591). There is no token to change
/// that later: it registers again.
struct RegistrationController: Sendable {
  let registry: Registry
  let rights: StrangerRights
  let limits: RequestLimits
  let clock: ServerClock

  /// The most characters of a name.
  private static let longestName = 40

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.post("/oauth/register", use: register)
  }

  @concurrent func register(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    // As long as a document that would say the same.
    let body = try await request.wholeBody(of: "application/json", upTo: ClientDocuments.longest)
    guard case .object(let members)? = JSONValue(Array(body.readableBytesView)) else {
      throw RegistrationController.refusal("it is not a JSON object")
    }
    do throws(DescribedError) { try ClientDocument.checkFlow(members) } catch {
      throw RegistrationController.refusal("\(error)")
    }
    let redirects: [String]
    do throws(DescribedError) {
      redirects = try ClientDocument.redirects(in: members, where: RegistrationController.isLoopback)
    } catch { throw OAuthError("invalid_redirect_uri", description: "\(error)") }
    let asked = members["scope"]?.string.map { $0.split(separator: " ").map(String.init) }
    let scopes = rights.scopes.filter { asked?.contains($0) ?? true }
    guard !scopes.isEmpty else { throw RegistrationController.refusal("none of its scopes may be requested") }
    let address = limits.client(of: request, context)
    try limits.take(.registrations, from: address)
    let new = try await registry.acting(as: .server(from: address.text)).register(
      name: ClientDocument.name(in: members, upTo: RegistrationController.longestName), redirectURIs: redirects,
      scopes: scopes, now: clock.now)
    guard let new else {
      context.logger.warning("Too many clients registered")
      throw OAuthError(
        "temporarily_unavailable", status: .serviceUnavailable, description: "too many clients are registered",
        retryAfter: 3600)
    }
    context.logger.info("Client registered", metadata: ["handstamp.client": "\(new.id)"])
    // Whatever else it asked for, this is what it got (section 3.2.1).
    var json = JSONText()
    json.add("client_id", new.id)
    json.add("client_id_issued_at", new.registeredAt.seconds)
    json.add("client_name", ifPresent: new.name)
    json.add("redirect_uris", new.redirectURIs)
    json.add("token_endpoint_auth_method", "none")
    json.add("grant_types", ["authorization_code", "refresh_token"])
    json.add("response_types", ["code"])
    json.add("scope", new.scopes.joined(separator: " "))
    return .oauth(json, status: .created)
  }

  /// Section 3.2.2.
  private static func refusal(_ words: String) -> OAuthError {
    OAuthError("invalid_client_metadata", description: words)
  }

  /// Whether a redirect URI leads to a port of the browser's own machine (RFC 8252 sections 7.3 and 8.3).
  private static func isLoopback(_ uri: String) -> Bool {
    guard ConfiguredClient.isSafe(uri), let origin = Origin(uri), origin.scheme == "http" else { return false }
    return Loopback.names.contains(origin.host)
  }
}
#endif
