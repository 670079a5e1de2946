#if Server
import HandstampRegistry
import Hummingbird

/// What everyone may read: the key set, the operator's configuration for apps, the server's health.
struct DocumentsController: Sendable {
  let registry: Registry
  let keySet: FixedDocument
  let appConfig: FixedDocument

  func addRoutes<Context: RequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/v1/app-config") { request, _ in appConfig.response(to: request) }
    routes.get("/.well-known/jwks.json") { request, _ in keySet.response(to: request) }
    routes.get("/health", use: health)
  }

  /// `GET /health`: 200 if the store can be read, otherwise 503.
  @concurrent func health(_ request: Request, _ context: some RequestContext) async throws -> Response {
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
