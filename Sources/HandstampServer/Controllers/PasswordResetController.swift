#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird

/// Forgotten passwords: a mailed one-time token sets a new one.
struct PasswordResetController: Sendable {
  let registry: Registry
  let passwords: PasswordPool
  let policy: PasswordPolicy
  let outbox: Outbox
  let journal: SessionJournal
  let limits: RequestLimits
  let clock: ServerClock
  let metrics: ServerMetrics
  /// Maximum size of a body, in bytes.
  let bodyLimit: Int

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.post("/v1/password-reset", use: request)
    routes.post("/v1/password-reset/confirm", use: confirm)
  }

  /// `POST /v1/password-reset`: answers 202 for every address, before it is looked up. A mail is sent later if there is a password
  /// to reset.
  @concurrent func request(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let email = try await request.json(as: ResetBody.self, upTo: bodyLimit).email
    try limits.take(.mails, from: limits.client(of: request, context), about: email.normalized)
    try await outbox.add(.reset(email), to: email)
    return .accepted("mail_sent")
  }

  /// `POST /v1/password-reset/confirm`: sets the password and ends every session of the account.
  @concurrent func confirm(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let body = try await request.json(as: ResetConfirmBody.self, upTo: bodyLimit)
    try limits.takeOwn(.codes, from: limits.client(of: request, context))
    guard let token = OneTimeToken(presented: body.token) else { throw Problem.oneTimeTokenInvalid }
    // Do not spend a hash on guesses, nor what all clients share.
    guard let account = try await registry.account(resetBy: token, now: clock.now) else {
      throw Problem.oneTimeTokenInvalid
    }
    try limits.takeShared(.codes)
    let place = try passwords.admit()
    try policy.check(new: body.password, of: account.email, account.username)
    let hash = try await place.hash(body.password)
    let owned = registry.acting(as: .owner(from: limits.client(of: request, context).text))
    journal.ended(
      try await owned.resetPassword(with: token, hash: hash, now: clock.now), logger: context.logger)
    metrics.update { $0.passwordChanges += 1 }
    return .nothing
  }
}
#endif
