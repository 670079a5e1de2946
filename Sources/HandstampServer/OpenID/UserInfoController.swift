#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird

/// `/oauth/userinfo`: claims about the account that a client's access token is for (OpenID Connect Core 1.0 section 5.3).
struct UserInfoController: Sendable {
  let registry: Registry
  let authenticator: Authenticator

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    // Both methods (section 5.3.1). A client of OAuth alone has no scope `openid`.
    let signedIn = routes.signedIn(by: authenticator, allowing: ["openid", "profile"])
    signedIn.get("/oauth/userinfo", use: claims)
    signedIn.post("/oauth/userinfo", use: claims)
  }

  @concurrent func claims(
    _ request: Request, _ context: SignedInContext<some SessionRequestContext>
  ) async throws -> Response {
    let account = try await registry.account(of: context.session)
    let scopes = context.session.scopes
    var json = JSONText()
    json.add("sub", account.id.rawValue)
    if scopes?.contains("profile") ?? true { json.add("name", account.username) }
    if scopes?.contains("email") ?? true, let email = account.email {
      json.add("email", email.typed)
      json.add("email_verified", account.emailConfirmedAt != nil)
    }
    var response = Response.json(json)
    response.headers[.cacheControl] = "no-store"
    return response
  }
}
#endif
