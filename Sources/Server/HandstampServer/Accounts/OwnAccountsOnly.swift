#if Server
import Hummingbird

/// Refuses the routes for accounts of the server's own where an ``AccountDirectory`` keeps the accounts.
struct OwnAccountsOnly<Context: RequestContext>: RouterMiddleware {
  let hasDirectory: Bool

  func handle(
    _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    guard !hasDirectory else { throw ProblemError.notOffered("This server does not manage accounts") }
    return try await next(request, context)
  }
}
#endif
