#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird

/// Sign-in with a password, and with Apple.
struct SignInController: Sendable {
  let service: AccountService
  let sessions: SessionIssuer
  /// Maximum size of a body, in bytes.
  let bodyLimit: Int

  func addRoutes<Context: SessionRequestContext>(
    to routes: some RouterMethods<Context>, ownAccounts own: some RouterMethods<Context>
  ) {
    routes.post("/v1/sign-in", use: signIn)
    own.post("/v1/sign-in/provider", use: signInWithProvider)
    routes.post("/v1/sign-in/apple", use: signInWithApple)
  }

  /// `POST /v1/sign-in`: signs in with email address and password.
  @concurrent func signIn(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let body = try await request.json(as: SignInBody.self, upTo: bodyLimit)
    let binding = try sessions.binding(of: request)
    let new = try await service.signIn(
      email: body.email, password: body.password, code: body.code, binding.start(body.device, body.key),
      by: service.caller(request, context))
    return try sessions.answer(new, binding)
  }

  /// `POST /v1/sign-in/apple`: signs in a user with Apple's identity token; the first sign-in creates the account.
  @concurrent func signInWithApple(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    guard service.identityTokens != nil else { throw ProblemError.noApple }
    let body = try await request.json(as: AppleBody.self, upTo: bodyLimit)
    let binding = try sessions.binding(of: request)
    let new = try await service.signIn(
      with: body.idToken, nonce: body.nonce, username: body.username ?? "", binding.start(body.device, body.key),
      by: service.caller(request, context))
    return try sessions.answer(new, binding)
  }

  /// `POST /v1/sign-in/provider`: signs in a user with an ID token that the app got from a provider; the first sign-in may create the
  /// account.
  @concurrent func signInWithProvider(
    _ request: Request, _ context: some SessionRequestContext
  ) async throws -> Response {
    let body = try await request.json(as: ProviderBody.self, upTo: bodyLimit)
    let binding = try sessions.binding(of: request)
    let new = try await service.signIn(
      at: body.provider, with: body.token.idToken, nonce: body.token.nonce, username: body.token.username ?? "",
      binding.start(body.token.device, body.token.key), by: service.caller(request, context))
    return try sessions.answer(new, binding)
  }
}
#endif
