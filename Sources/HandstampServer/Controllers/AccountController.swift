#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird
import Logging

/// The signed-in account: its profile, its password, its deletion.
struct AccountController: Sendable {
  let registry: Registry
  let passwords: PasswordPool
  let journal: SessionJournal
  let authenticator: Authenticator
  let clock: ServerClock
  let metrics: ServerMetrics
  /// Maximum size of a body, in bytes.
  let bodyLimit: Int

  func addRoutes<Context: SessionRequestContext>(
    to routes: some RouterMethods<Context>, ownAccounts: some RouterMethods<Context>
  ) {
    routes.signedIn(by: authenticator, allowing: "profile").get("/v1/me", use: show)
    let own = ownAccounts.signedIn(by: authenticator)
    own.delete("/v1/me", use: delete)
    own.post("/v1/password", use: changePassword)
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
    try PasswordRule.check(attempt: body.current)
    try PasswordRule.check(new: body.new)
    let place = try passwords.admit()
    let account = try await registry.account(of: context.session)
    try await require(body.current, of: account, place, context.logger)
    let hash = try await place.hash(body.new)
    journal.ended(
      try await registry.setPassword(
        of: account, hash: hash, keeping: context.session.id, endingOthers: body.endOthers, now: clock.now),
      logger: context.logger)
    journal.changed(account.id)
    metrics.update { $0.passwordChanges += 1 }
    context.logger.info("Password changed", metadata: ["handstamp.account": "\(account.id)"])
    return .nothing
  }

  /// `DELETE /v1/me`: permanently deletes the account and ends all its sessions. Requires the password if the account has one.
  @concurrent func delete(
    _ request: Request, _ context: SignedInContext<some SessionRequestContext>
  ) async throws -> Response {
    let body = try await request.optionalJSON(as: DeletionBody.self, upTo: bodyLimit)
    let place = try passwords.admit()
    let account = try await registry.account(of: context.session)
    if account.passwordHash != nil {
      let password = body?.password ?? Secret("")
      try PasswordRule.check(attempt: password)
      try await require(password, of: account, place, context.logger)
    }
    journal.ended(try await registry.deleteAccount(account, now: clock.now), logger: context.logger)
    journal.changed(account.id)
    metrics.update { $0.accountsDeleted += 1 }
    context.logger.info("Account deleted", metadata: ["handstamp.account": "\(account.id)"])
    return .nothing
  }

  /// Verifies the password at the cost of one hash, whether the account has one or not. Fails with 403, not 401: the access
  /// token is valid.
  private func require(
    _ password: Secret, of account: AccountRecord, _ place: PasswordPool.Place, _ logger: Logger
  ) async throws {
    guard try await !place.verify(password, against: account.passwordHash) else { return }
    metrics.update { $0.refusedSignIns += 1 }
    logger.info("Password refused", metadata: ["handstamp.account": "\(account.id)"])
    throw Problem.wrongPassword
  }
}
#endif
