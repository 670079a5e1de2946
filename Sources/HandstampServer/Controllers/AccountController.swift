#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird
import Logging

/// The signed-in account: its profile, its password, its deletion.
struct AccountController: Sendable {
  let registry: Registry
  let passwords: PasswordPool
  let policy: PasswordPolicy
  let passwordGuard: PasswordGuard
  /// `nil` disables Sign in with Apple.
  let identityTokens: IdentityTokens?
  /// `nil` if the server has no passkeys.
  let passkeys: PasskeyDesk?
  let journal: SessionJournal
  let authenticator: Authenticator
  let responses: TokenResponses
  let limits: RequestLimits
  let clock: ServerClock
  /// How long a proof allows what a session alone may not do; `nil` for as long as it lasts.
  let reauthentication: Duration?
  let metrics: ServerMetrics
  /// Maximum size of a body, in bytes.
  let bodyLimit: Int

  func addRoutes<Context: SessionRequestContext>(
    to routes: some RouterMethods<Context>, ownAccounts: some RouterMethods<Context>
  ) {
    routes.signedIn(by: authenticator, allowing: ["profile"]).get("/v1/me", use: show)
    let own = ownAccounts.signedIn(by: authenticator)
    own.delete("/v1/me", use: delete)
    own.post("/v1/password", use: changePassword)
    own.post("/v1/reauthenticate", use: reauthenticate)
  }

  /// `GET /v1/me`: the signed-in account.
  @concurrent func show(
    _ request: Request, _ context: SignedInContext<some SessionRequestContext>
  ) async throws -> Response {
    let account = try await registry.account(of: context.session)
    var json = account.profile
    // The name used by OpenID Connect's userinfo endpoint.
    json.add("sub", account.id.rawValue)
    if context.session.scopes?.contains("email") ?? true { json.add("email", ifPresent: account.email?.typed) }
    json.add("session_id", context.session.id.rawValue)
    json.add("created_at", account.createdAt.description)
    json.add("created_at_ms", account.createdAt.milliseconds)
    return .json(json)
  }

  /// `POST /v1/password`: changes the password, given the current one, and ends the other sessions on request. The session that
  /// makes the request stays.
  @concurrent func changePassword(
    _ request: Request, _ context: SignedInContext<some SessionRequestContext>
  ) async throws -> Response {
    let body = try await request.json(as: PasswordBody.self, upTo: bodyLimit)
    let account = try await registry.account(of: context.session)
    let place = try await require(body.current, of: account, request, context)
    try policy.check(new: body.new, of: account.email, account.username)
    let hash = try await place.hash(body.new)
    journal.ended(
      try await owned(request, context).setPassword(
        of: account, hash: hash, keeping: context.session.id, endingOthers: body.endOthers, now: clock.now),
      logger: context.logger)
    journal.changed(account.id)
    metrics.update { $0.passwordChanges += 1 }
    context.logger.info("Password changed", metadata: ["handstamp.account": "\(account.id)"])
    return .nothing
  }

  /// `POST /v1/reauthenticate`: the user proves to be the account's owner, for what a session alone may not do. The response is
  /// an access token that may do it.
  @concurrent func reauthenticate(
    _ request: Request, _ context: SignedInContext<some SessionRequestContext>
  ) async throws -> Response {
    let body = try await request.json(as: ReauthenticationBody.self, upTo: bodyLimit)
    let account = try await registry.account(of: context.session)
    switch body.proof {
    case .password(let password): _ = try await require(password, of: account, request, context)
    case .identity(let token, let nonce):
      guard let identityTokens else {
        throw Problem.notOffered("Sign in with Apple is not set up on this server")
      }
      try limits.takeOwn(.passwords, from: limits.client(of: request, context.parent))
      let claims = try await identityTokens.verify(token, nonce: nonce, at: clock.read().forOthers)
      guard claims.identity == account.identity else { throw Problem.badIDToken }
      try await registry.use(claims.usedNonce(at: clock.now))
    case .passkey(let answer):
      guard let passkeys else { throw Problem.noPasskeys }
      try limits.takeOwn(.passwords, from: limits.client(of: request, context.parent))
      try await passkeys.signIn(
        Array(answer.utf8), boundTo: PasskeySignInController.app, as: account.id, context.logger
      ) { try await registry.record($0) }
    }
    let now = clock.now
    guard let row = try await registry.session(context.session.id, now: now) else {
      throw RegistryError.notFound
    }
    return .json(try responses.reauthenticated(row, at: now))
  }

  /// `DELETE /v1/me`: permanently deletes the account and ends all its sessions. Requires the password if the account has one, or a
  /// recent proof unless it is a guest's.
  @concurrent func delete(
    _ request: Request, _ context: SignedInContext<some SessionRequestContext>
  ) async throws -> Response {
    let body = try await request.optionalJSON(as: DeletionBody.self, upTo: bodyLimit)
    let account = try await registry.account(of: context.session)
    if account.passwordHash != nil {
      _ = try await require(body?.password ?? Secret(""), of: account, request, context)
    } else if !account.isGuest, !context.session.isProven(within: reauthentication, at: clock.now) {
      throw Problem.reauthenticationRequired
    }
    journal.ended(
      try await owned(request, context).deleteAccount(account, now: clock.now), logger: context.logger)
    journal.changed(account.id)
    metrics.update { $0.accountsDeleted += 1 }
    context.logger.info("Account deleted", metadata: ["handstamp.account": "\(account.id)"])
    return .nothing
  }

  /// The registry on behalf of the account's owner.
  private func owned(_ request: Request, _ context: SignedInContext<some SessionRequestContext>) -> Registry {
    registry.acting(as: .owner(from: limits.client(of: request, context.parent).text))
  }

  /// Verifies the password, and bounds guessing: a stolen session must not find the password out. Fails with 403, not 401: the
  /// access token is valid.
  ///
  /// - Returns: the place in the queue, for the hash of a new password.
  private func require(
    _ password: Secret, of account: AccountRecord, _ request: Request,
    _ context: SignedInContext<some SessionRequestContext>
  ) async throws -> PasswordPool.Place {
    try PasswordPolicy.check(attempt: password)
    // Not worth a hash: the account's own session may know that it has no password.
    guard let email = account.email, let hash = account.passwordHash else { throw Problem.wrongPassword }
    let client = limits.client(of: request, context.parent)
    let now = clock.now
    let device = try await registry.session(context.session.id, now: now)?.device.id
    let attempt = PasswordAttempt(
      email: email, password: password, device: device, client: client, logger: context.logger)
    var place: PasswordPool.Place?
    let fits = try await passwordGuard.check(attempt, for: account.id, at: now) { isKnown in
      let admitted = try passwords.admit(isPreferred: isKnown)
      place = admitted
      return try await admitted.verify(password, against: hash)
    }
    guard fits, let place else { throw Problem.wrongPassword }
    return place
  }
}
#endif
