#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird

/// `/oauth/device_authorization`: gives a device the codes for its user (RFC 8628 section 3.1).
struct DeviceAuthorizationController: Sendable {
  let authentication: ClientAuthentication
  /// The address of the server, without a slash at its end.
  let base: String

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.post("/oauth/device_authorization", use: authorize)
  }

  @concurrent func authorize(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let (form, client) = try await authentication.call(request, context)
    guard let client, client.flows.contains(.device) else { throw OAuthError("unauthorized_client") }
    guard let scope = client.granted(form["scope"])?.scope else { throw OAuthError("invalid_scope") }
    let resource = try form.resource()
    guard resource.map({ client.audiences.contains($0) }) ?? true else { throw OAuthError("invalid_target") }
    var grant = DeviceGrant(client: client.id, clientName: client.name, scope: scope, audience: resource)
    let needs = try PromptRequirements(form)
    (grant.access.context, grant.maxAge) = (needs.context, needs.maxAge)
    let limits = authentication.limits
    try limits.take(.devices, from: limits.client(of: request, context), about: client.id)
    let codes = try await authentication.registry.beginDevice(grant, now: authentication.clock.now)
    var json = JSONText()
    json.add("device_code", codes.device.secret.withExposed { $0 })
    json.add("user_code", codes.user.text)
    json.add("verification_uri", base + "/device")
    json.add("verification_uri_complete", base + "/device?user_code=" + codes.user.text)
    json.add("expires_in", DeviceGrant.life.components.seconds)
    json.add("interval", DeviceGrant.interval.components.seconds)
    return .oauth(json)
  }
}
#endif
