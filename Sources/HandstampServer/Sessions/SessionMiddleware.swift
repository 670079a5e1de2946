#if Server
public import Hummingbird

/// Admits only requests with a valid access token of a live session, and sets ``SessionRequestContext/session``. Others are
/// answered 401, or 403 if the token's scopes are not sufficient, as problem+json (RFC 6750, RFC 9457).
public struct SessionMiddleware<Context: SessionRequestContext>: RouterMiddleware {
  let authenticator: Authenticator
  /// The scopes of which one admits another client's token; without any, only those of the server's own app are admitted.
  let scopes: [String]

  public func handle(
    _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    var context = context
    do {
      context.session = try await authenticator.session(of: request, allowing: scopes, logger: context.logger)
    } catch {
      // Mapped here, because an app's own routes have no error middleware of this server.
      throw authenticator.errors.problem(for: error, logger: context.logger)
    }
    return try await next(request, context)
  }
}

extension RouterMethods where Context: SessionRequestContext {
  /// Returns a group whose routes require a session, which is in their context.
  func signedIn(
    _ path: RouterPath = "", by authenticator: Authenticator, allowing scopes: [String] = []
  ) -> RouterGroup<SignedInContext<Context>> {
    group(path).add(middleware: SessionMiddleware(authenticator: authenticator, scopes: scopes))
      .group(context: SignedInContext<Context>.self)
  }
}
#endif
