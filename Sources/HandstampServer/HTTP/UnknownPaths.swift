#if Server
import HandstampSupport
import HTTPTypes
import Hummingbird

/// Answers requests for which the server has no route. The routes answer their own errors, see ``ErrorMiddleware``.
struct UnknownPaths<Context: RequestContext>: RouterMiddleware {
  let errors: ErrorMapper
  let fields: ResponseFields
  /// The methods of the paths, to answer 405 instead of 404.
  let allowed: AllowedMethods

  func handle(
    _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    var response: Response
    // Routers take `//admin` for `/admin`, which a proxy's rule for `/admin` does not.
    if request.uri.path.contains("//") {
      response = Problem.notFound.response
    } else {
      do { return try await next(request, context) } catch let error as HTTPError where error.status == .notFound {
        if let methods = allowed.methods(at: request.uri.path) {
          response = Problem.methodNotAllowed(methods).response
        } else if request.isFromBrowser, request.uri.path == "/" {
          // Not a route, for routers take paths that are not valid for the root.
          response = .seeOther(errors.pages.issuer + "/account")
        } else {
          response = errors.response(
            to: error, of: request, as: request.isFromBrowser ? .page : .problem, logger: context.logger)
        }
      }
    }
    fields.add(to: &response.headers)
    return response
  }
}

extension Request {
  /// Whether a person may see the answer: programs do not ask for pages.
  fileprivate var isFromBrowser: Bool { method == .get && headers[.accept]?.contains("text/html") == true }
}

/// The methods of each path (RFC 9110 section 15.5.6). Collects them like a router, without serving anything.
final class AllowedMethods: RouterMethods, Sendable {
  typealias Context = ServerContext
  private let routes = Locked<[(path: [Substring], methods: [HTTPRequest.Method])]>([])

  func on<Responder: HTTPResponder>(
    _ path: RouterPath, method: HTTPRequest.Method, responder: Responder
  ) -> Self where Responder.Context == Context {
    let path = path.description.split(separator: "/")
    routes.withLock { routes in
      if let index = routes.firstIndex(where: { $0.path == path }) {
        routes[index].methods.append(method)
      } else {
        routes.append((path, [method]))
      }
    }
    return self
  }

  func add(middleware: any MiddlewareProtocol<Request, Response, Context>) -> Self { self }

  /// Every route: its path, with parameters such as `{id}`, and its methods.
  var all: [(path: String, methods: [HTTPRequest.Method])] {
    routes.withLock { routes in routes.map { ("/" + $0.path.joined(separator: "/"), $0.methods) } }
  }

  /// Returns the value of the `Allow` field, or `nil` if the path has no route.
  func methods(at path: String) -> String? {
    let parts = path.split(separator: "/")
    let matching = routes.withLock { routes in
      routes.filter { route in
        route.path.count == parts.count
          && zip(route.path, parts).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
      }
    }
    // A path of its own goes before one with parameters.
    guard let best = matching.map({ $0.path.count { $0.hasPrefix("{") } }).min() else { return nil }
    return matching.filter { $0.path.count { $0.hasPrefix("{") } == best }.flatMap(\.methods).map(\.rawValue).joined(
      separator: ", ")
  }
}
#endif
