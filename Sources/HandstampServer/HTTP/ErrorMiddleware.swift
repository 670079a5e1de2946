#if Server
import HandstampSupport
import HTTPTypes
import HandstampCore
import Hummingbird
import Logging
import NIOCore

/// Answers every error of the routes behind it, in one format, and adds the fields of every answer. See ``ErrorMapper``.
struct ErrorMiddleware<Context: RequestContext>: RouterMiddleware {
  let errors: ErrorMapper
  let format: ErrorMapper.Format
  let fields: AnswerFields
  /// The methods of the paths, to answer 405 instead of 404; `nil` if unknown paths are not this server's.
  var allowed: AllowedMethods?

  func handle(
    _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    var response: Response
    do {
      // Routers take `//admin` for `/admin`, which a proxy's rule for `/admin` does not.
      guard allowed == nil || !request.uri.path.contains("//") else { throw Problem.notFound }
      response = try await next(request, context)
    } catch let error as ChannelError {
      throw error
    } catch {
      response = answer(to: error, of: request, logger: context.logger)
    }
    fields.add(to: &response.headers)
    return response
  }

  private func answer(to error: any Error, of request: Request, logger: Logger) -> Response {
    if let allowed, let error = error as? HTTPError, error.status == .notFound {
      if let methods = allowed.methods(at: request.uri.path) { return Problem.methodNotAllowed(methods).response }
      if request.isFromBrowser {
        // Not a route, for routers take paths that are not valid for the root.
        if request.uri.path == "/" { return .seeOther(errors.pages.issuer + "/account") }
        return errors.response(to: error, of: request, as: .page, logger: logger)
      }
    }
    return errors.response(to: error, of: request, as: format, logger: logger)
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
