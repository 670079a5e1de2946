#if Server
import HTTPTypes
import Hummingbird
import NIOCore

/// Answers requests for which the server has no route: its router gets it after all routes. Those answer their own errors, see
/// ``ErrorMiddleware``.
struct UnknownPaths<Context: RequestContext>: RouterMiddleware {
  let errors: ErrorMapper
  let fields: ResponseFields
  /// To answer 405 instead of 404.
  let methods: RouteMethods
  /// Paths that an app opens, see ``AppAssociations``. A browser gets there if the app is not installed.
  let callbacks: Set<String>

  func handle(
    _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    var response: Response
    do { return try await next(request, context) } catch let error as HTTPError where error.status == .notFound {
      if let methods = methods.allowed(at: request.uri.path) {
        response = ProblemError.methodNotAllowed(methods).response
      } else if request.isFromBrowser, callbacks.contains(request.uri.path) {
        var reader = errors.pages.reader(of: request)
        // Without the query, which may have a code.
        reader.here = request.uri.path
        response = errors.pages.response(.message("open_app", icon: "info", to: []), to: reader)
      } else if request.method == .get, request.uri.path == "/" {
        // Not a route, for routers take paths that are not valid for the root.
        response = request.isFromBrowser ? .seeOther(errors.pages.issuer + "/account") : welcome
      } else {
        response = errors.response(
          to: error, of: request, as: request.isFromBrowser ? .page : .problem, logger: context.logger)
      }
    }
    fields.add(to: &response.headers)
    return response
  }

  /// The front door, for a person with a program such as curl.
  private var welcome: Response {
    let issuer = errors.pages.issuer
    return Response(
      status: .ok, headers: [.contentType: "text/plain; charset=utf-8", .cacheControl: "no-store"],
      body: .init(
        byteBuffer: ByteBuffer(
          string: """
            A Handstamp session server. In a browser: \(issuer)/account
            For programs: \(issuer)/openapi.json and \(issuer)/.well-known/openid-configuration

            """)))
  }
}

/// The methods of a router's paths.
struct RouteMethods: Sendable {
  private let routes: [(path: [Substring], method: HTTPRequest.Method)]

  init(of router: Router<some RequestContext>) {
    routes = router.routes.map { ($0.path.description.split(separator: "/"), $0.method) }
  }

  /// Returns the value of the `Allow` field (RFC 9110 section 15.5.6), or `nil` if the path has no route.
  func allowed(at path: String) -> String? {
    let parts = path.split(separator: "/")
    let matching = routes.filter {
      $0.path.count == parts.count && zip($0.path, parts).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
    }
    // A path of its own goes before one with parameters.
    guard let best = matching.map({ $0.path.count { $0.hasPrefix("{") } }).min() else { return nil }
    let methods = matching.filter { $0.path.count { $0.hasPrefix("{") } == best }.map(\.method)
    let order: [HTTPRequest.Method] = [.options, .get, .post, .put, .patch, .delete]
    return order.filter(methods.contains).map(\.rawValue).joined(separator: ", ")
  }
}

extension Request {
  /// Whether a person may see the response: programs do not ask for pages.
  var isFromBrowser: Bool { method == .get && headers[.accept]?.contains("text/html") == true }
}
#endif
