#if Server
import HandstampSupport
import Hummingbird

/// Public documents: the key set, the operator's configuration for apps, whether the server works.
struct DocumentsController: Sendable {
  let keySet: FixedDocument
  let metadata: FixedDocument
  let appConfig: FixedDocument
  let openAPI: FixedDocument
  let limits: RequestLimits
  let readiness: Readiness

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/v1/app-config") { request, _ in appConfig.response(to: request) }
    routes.get("/openapi.json") { request, _ in openAPI.response(to: request) }
    // Below the issuer's path, unlike the metadata of RFC 8414 (OpenID Connect Discovery 1.0 section 4).
    routes.get("/.well-known/openid-configuration") { request, _ in metadata.response(to: request) }
    routes.get("/.well-known/jwks.json") { request, _ in keySet.response(to: request) }
    readiness.addRoutes(to: routes)
    routes.get("/v1/client-address", use: clientAddress)
  }

  /// `GET /v1/client-address`: the address that the request's limits count by, and whether a proxy named it, so that an operator
  /// can check the set-up of a proxy.
  @concurrent func clientAddress(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let client = limits.client(of: request, context)
    var json = JSONText()
    json.add("address", ifPresent: client.address.map { "\($0)" })
    json.add("network", ifPresent: client.address.map { "\($0.network)" })
    json.add("source", client.source.rawValue)
    return .json(json)
  }
}
#endif
