#if Server
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOHTTP1

/// Turns every error of a route into problem+json, so that no internals reach the client, and logs the server's own errors.
struct ProblemMiddleware: RouterMiddleware {
  typealias Context = ServerContext
  let allowed: AllowedMethods

  func handle(
    _ request: Request, context: ServerContext,
    next: @concurrent (Request, ServerContext) async throws -> Response
  ) async throws -> Response {
    do {
      return try await next(request, context)
    } catch let problem as Problem {
      return problem.response
    } catch let error as HTTPError where error.status == .notFound {
      if let methods = allowed.methods(at: request.uri.path) { return Problem.methodNotAllowed(methods).response }
      return Problem.notFound.response
    } catch let error as any HTTPResponseError where error.status.kind == .clientError {
      return Problem(error.status, "invalid_request", "The request is not valid").response
    } catch is HTTPParserError {
      // In the middle of a body: a chunk without a length, for example.
      var response = Problem(.badRequest, "invalid_request", "The request is not valid HTTP").response
      response.headers[.connection] = "close"
      return response
    } catch is CancellationError {
      return Problem.unavailable.response
    } catch let error as ChannelError {
      throw error
    } catch {
      // Log only the type: the text of an error may quote the request.
      context.logger.error("Request failed", metadata: ["handstamp.error": "\(type(of: error))"])
      return Problem.internal.response
    }
  }
}

/// The methods of each path, to answer 405 instead of 404 (RFC 9110 section 15.5.6).
struct AllowedMethods: Sendable {
  private var routes: [(path: [Substring], methods: [HTTPRequest.Method])] = []

  mutating func add(_ method: HTTPRequest.Method, _ path: String) {
    let path = path.split(separator: "/")
    if let index = routes.firstIndex(where: { $0.path == path }) {
      routes[index].methods.append(method)
    } else {
      routes.append((path, [method]))
    }
  }

  /// Returns the value of the `Allow` field, or `nil` if the path has no route.
  func methods(at path: String) -> String? {
    let parts = path.split(separator: "/")
    let matching = routes.filter { route in
      route.path.count == parts.count
        && zip(route.path, parts).allSatisfy { $0.hasPrefix(":") || $0 == $1 }
    }
    guard !matching.isEmpty else { return nil }
    return matching.flatMap(\.methods).map(\.rawValue).joined(separator: ", ")
  }
}
#endif
