#if Server
import HandstampRegistry
import Hummingbird

/// What everyone may read: the key set, the operator's configuration for apps, the server's health.
struct DocumentsController: Sendable {
  let registry: Registry
  let keySet: FixedDocument
  let appConfig: FixedDocument
  let limits: RequestLimits

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/v1/app-config") { request, _ in appConfig.response(to: request) }
    routes.get("/.well-known/jwks.json") { request, _ in keySet.response(to: request) }
    routes.get("/health", use: health)
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

  /// `GET /health`: 200 if the store can be read, otherwise 503.
  @concurrent func health(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    var json = JSONText()
    do {
      _ = try await registry.lastEventID()
      json.add("status", "ok")
      return .json(json)
    } catch {
      json.add("status", "unavailable")
      return .json(json, status: .serviceUnavailable)
    }
  }
}
#endif
