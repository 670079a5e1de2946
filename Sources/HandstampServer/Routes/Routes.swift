#if Server
import HTTPTypes
import HandstampCore
import HandstampRegistry
import Hummingbird

/// An entry of the routing table.
struct Route: Sendable {
  var method: HTTPRequest.Method
  var path: String
  var handler: @Sendable (Request, ServerContext) async throws -> Response

  init(
    _ method: HTTPRequest.Method, _ path: String,
    _ handler: @escaping @Sendable (Request, ServerContext) async throws -> Response
  ) {
    self.method = method
    self.path = path
    self.handler = handler
  }
}

extension SessionServer {
  /// All routes of the server.
  var routes: [Route] {
    [
      Route(.post, "/v1/sign-up", signUp),
      Route(.post, "/v1/sign-up/confirm", confirmSignUp),
      Route(.post, "/v1/sign-in", signIn),
      Route(.post, "/v1/sign-in/anonymous", signInAnonymously),
      Route(.post, "/v1/sign-in/apple", signInWithApple),
      Route(.post, "/v1/upgrade", upgrade),
      Route(.post, "/v1/password", changePassword),
      Route(.post, "/v1/password-reset", requestReset),
      Route(.post, "/v1/password-reset/confirm", confirmReset),
      Route(.post, "/v1/sign-out", signOut),
      Route(.get, "/v1/me", me),
      Route(.delete, "/v1/me", deleteAccount),
      Route(.get, "/v1/sessions", listSessions),
      Route(.delete, "/v1/sessions", endAllSessions),
      Route(.delete, "/v1/sessions/:id", endSession),
      Route(.patch, "/v1/sessions/:id", renameSession),
      Route(.put, "/v1/device/push-token", setPushToken),
      Route(.post, "/v1/sessions/end-others", endOtherSessions),
      Route(.get, "/v1/events", events),
      Route(.get, "/v1/app-config") { request, _ in appConfig.response(to: request) },
      Route(.post, "/oauth/token", token),
      Route(.post, "/oauth/revoke", revoke),
      Route(.post, "/oauth/introspect", introspect),
      Route(.post, "/oauth/device_authorization", authorizeDevice),
      Route(.get, "/oauth/authorize", showAuthorization),
      Route(.post, "/oauth/authorize", answerAuthorization),
      Route(.get, "/device", showDevicePage),
      Route(.post, "/device", answerDevicePage),
      Route(.get, FixedDocument.metadataPath(of: configuration.issuer)) { request, _ in
        serverMetadata.response(to: request)
      },
      Route(.get, "/.well-known/jwks.json") { request, _ in keySet.response(to: request) },
      Route(.get, "/health", health),
    ]
  }

  /// `GET /health`: 200 if the store can be read, otherwise 503.
  private func health(_ request: Request, _ context: ServerContext) async throws -> Response {
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

extension Response {
  /// A JSON response that must not be cached.
  static func json(_ json: JSONText, status: HTTPResponse.Status = .ok) -> Response {
    Response(
      status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
      body: .init(byteBuffer: json.buffer))
  }

  static var nothing: Response { Response(status: .noContent, headers: [.cacheControl: "no-store"]) }
}
#endif
