#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird

/// Sign-in with a password, and with Apple.
struct SignInController: Sendable {
  let registry: Registry
  let accounts: any Accounts
  let sessions: SessionIssuer
  /// `nil` disables Sign in with Apple.
  let identityTokens: IdentityTokens?
  let limits: RequestLimits
  let clock: ServerClock
  let signUp: ServerConfiguration.SignUp
  /// Maximum size of a body, in bytes.
  let bodyLimit: Int

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.post("/v1/sign-in", use: signIn)
    routes.post("/v1/sign-in/apple", use: signInWithApple)
  }

  /// `POST /v1/sign-in`: signs in with email address and password.
  @concurrent func signIn(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let body = try await request.json(as: SignInBody.self, upTo: bodyLimit)
    let binding = try sessions.binding(of: request)
    let account = try await accounts.account(
      PasswordAttempt(
        email: body.email, password: body.password, device: body.device.id, client: limits.client(of: request, context),
        logger: context.logger))
    return try await sessions.begin(binding, status: .ok, logger: context.logger) { now in
      try await registry.createSession(
        for: account, device: body.device, thumbprint: binding.thumbprint, key: body.key, now: now)
    }
  }

  /// `POST /v1/sign-in/apple`: signs in a user with Apple's identity token; the first sign-in creates the account. The
  /// account is found only by Apple's user ID: an email address in the token gives access to no account.
  @concurrent func signInWithApple(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    guard let identityTokens else { throw Problem.notOffered("Sign in with Apple is not set up on this server") }
    let body = try await request.json(as: AppleBody.self, upTo: bodyLimit)
    let binding = try sessions.binding(of: request)
    // It may create an account, and each check costs a signature.
    try limits.takeOwn(.signUps, from: limits.client(of: request, context))
    let claims = try await identityTokens.verify(body.idToken, nonce: body.nonce, at: clock.read().forOthers)
    try limits.takeShared(.signUps)
    if signUp == .closed {
      guard try await registry.account(identity: claims.identity) != nil else { throw Problem.signUpClosed }
    }
    return try await sessions.begin(binding, status: .ok, logger: context.logger) { now in
      try await registry.signIn(
        as: claims.identity, username: body.username ?? "", device: body.device, thumbprint: binding.thumbprint,
        nonce: claims.usedNonce(at: now), key: body.key, now: now)
    }
  }
}

extension IdentityTokens.Claims {
  /// Returns the record that marks the nonce as used for as long as its token could be sent again.
  func usedNonce(at now: UnixTime) -> OneTimeTokenRecord {
    OneTimeTokenRecord(
      id: OneTimeTokenID(of: Secret(identity.issuer + " " + nonce), purpose: .nonce), purpose: .nonce,
      subject: identity.issuer, createdAt: now, expiresAt: expiresAt)
  }
}
#endif
