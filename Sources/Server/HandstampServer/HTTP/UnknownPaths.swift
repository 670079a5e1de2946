#if Server
import HTTPTypes
import Hummingbird
import NIOCore

/// Answers requests for which the server has no route: its router gets it after all routes. Those answer their own errors, see
/// ``ErrorMiddleware``.
struct UnknownPaths<Context: RequestContext>: RouterMiddleware {
  let errors: ErrorMapper
  let fields: ResponseFields
  /// The methods of the paths, to answer 405 instead of 404.
  let routes: RouteTable
  /// Paths that an app opens, see ``AppAssociations``. A browser gets there if the app is not installed.
  let callbacks: Set<String>

  func handle(
    _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    var response: Response
    do { return try await next(request, context) } catch let error as HTTPError where error.status == .notFound {
      if let methods = routes.methods(at: request.uri.path) {
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

extension Request {
  /// Whether a person may see the response: programs do not ask for pages.
  var isFromBrowser: Bool { method == .get && headers[.accept]?.contains("text/html") == true }
}
#endif
