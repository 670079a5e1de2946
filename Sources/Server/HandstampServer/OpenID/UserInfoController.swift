#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird

/// `/oauth/userinfo`: claims about the account that a client's access token is for (OpenID Connect Core 1.0 section 5.3).
struct UserInfoController<Context: SessionRequestContext>: Sendable {
  let authenticator: Authenticator
  let limits: RequestLimits

  func addRoutes(to routes: some RouterMethods<Context>) {
    // Both methods (section 5.3.1). A client of OAuth alone has no scope `openid`.
    let signedIn = routes.group().add(middleware: TokenInForm(limits: limits))
      .signedIn(by: authenticator, allowing: ["openid", "profile"])
    signedIn.get(.prompt(.userInfo), use: claims)
    signedIn.post(.prompt(.userInfo), use: claims)
  }

  @concurrent func claims(_ request: Request, _ context: SignedInContext<Context>) async throws -> Response {
    let registry = authenticator.registry
    let account = try await registry.account(of: context.session)
    var json = JSONText()
    json.add("sub", account.id.rawValue)
    try await AccountClaims(account, allowedBy: context.session.scopes, from: registry).add(to: &json)
    return .json(json)
  }
}

/// Takes an access token from a form, where some clients send it (RFC 6750 section 2.2).
private struct TokenInForm<Context: RequestContext>: RouterMiddleware {
  let limits: RequestLimits

  func handle(
    _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    let type = "application/x-www-form-urlencoded"
    guard request.method == .post, request.headers[.contentType]?.isMediaType(type) == true else {
      return try await next(request, context)
    }
    let body = try await request.wholeBody(upTo: limits.bodySize)
    var head = request.head
    if let token = try FormFields(body.readableBytesView)["access_token"] {
      guard head.headerFields[.authorization] == nil else {
        throw ProblemError.invalidRequest("The access token is sent in two ways.")
      }
      head.headerFields[.authorization] = "Bearer " + token
    }
    return try await next(Request(head: head, body: RequestBody(buffer: body)), context)
  }
}
#endif
