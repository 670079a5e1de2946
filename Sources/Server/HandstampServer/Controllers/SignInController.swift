#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird

/// Sign-in with a password, with a passkey, and with another identity provider.
struct SignInController: Sendable {
  let service: AccountService
  let sessions: SessionIssuer

  func addRoutes<Context: SessionRequestContext>(
    to routes: some RouterMethods<Context>, ownAccounts own: some RouterMethods<Context>
  ) {
    routes.post("/v1/sign-in", use: signIn)
    own.post("/v1/sign-in/provider", use: signInWithProvider)
    routes.post("/v1/sign-in/apple", use: signInWithApple)
    own.post("/v1/sign-in/passkey/options", use: passkeyOptions)
    own.post("/v1/sign-in/passkey", use: signInWithPasskey)
  }

  /// `POST /v1/sign-in`: signs in with email address and password, and the one-time password that the account may ask for.
  @concurrent func signIn(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let body = try await request.json(upTo: service.limits.bodySize)
    let (email, password) = (try body.email(), try body.secret("password"))
    let code = try body.optionalSecret("code")
    let (start, proof) = try sessions.start(of: request, body)
    let new = try await service.signIn(
      email: email, password: password, code: code, start, by: service.caller(request, context))
    return try sessions.response(new, proof)
  }

  /// `POST /v1/sign-in/apple`: signs in a user with Apple's identity token; the first sign-in creates the account.
  @concurrent func signInWithApple(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    guard service.identityTokens != nil else { throw AccountError.notOffered(.apple) }
    let body = try await request.json(upTo: service.limits.bodySize)
    let (token, nonce, username) = try body.identity()
    let (start, proof) = try sessions.start(of: request, body)
    let new = try await service.signIn(
      with: token, nonce: nonce, code: try body.optionalSecret("authorization_code"), username: username, start,
      by: service.caller(request, context))
    return try sessions.response(new, proof)
  }

  /// `POST /v1/sign-in/provider`: signs in a user with an ID token that the app got from a provider; the first sign-in may create the
  /// account.
  @concurrent func signInWithProvider(
    _ request: Request, _ context: some SessionRequestContext
  ) async throws -> Response {
    let body = try await request.json(upTo: service.limits.bodySize)
    let provider = try body.text("provider")
    let (token, nonce, username) = try body.identity()
    let (start, proof) = try sessions.start(of: request, body)
    let new = try await service.signIn(
      at: provider, with: token, nonce: nonce, username: username, start, by: service.caller(request, context))
    return try sessions.response(new, proof)
  }

  /// `POST /v1/sign-in/passkey/options`: what the app passes to the system, as `PublicKeyCredentialRequestOptionsJSON`.
  @concurrent func passkeyOptions(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    guard let passkeys = service.passkeys else { throw AccountError.notOffered(.passkeys) }
    return .json(try passkeys.requestOptions(boundTo: PasskeyService.app))
  }

  /// `POST /v1/sign-in/passkey`: signs in with the system's answer: `AuthenticationResponseJSON` as a text, because it is signed, and
  /// its readers are strict.
  @concurrent func signInWithPasskey(
    _ request: Request, _ context: some SessionRequestContext
  ) async throws -> Response {
    guard service.passkeys != nil else { throw AccountError.notOffered(.passkeys) }
    let body = try await request.json(upTo: service.limits.bodySize)
    let answer = try body.text("passkey")
    let (start, proof) = try sessions.start(of: request, body)
    let new = try await service.signIn(byPasskey: answer, start, by: service.caller(request, context))
    return try sessions.response(new, proof)
  }
}

extension JSONFields {
  /// An ID token with its nonce, and the name of a new account, which Apple gives the app only once.
  func identity() throws(ProblemError) -> (token: Secret, nonce: String, username: String) {
    // An app that gets no name from Apple may send blanks.
    let isNamed = try optionalText("username")?.isShown ?? false
    return (try secret("id_token"), try text("nonce"), isNamed ? try name("username") : "")
  }
}
#endif
