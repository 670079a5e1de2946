#if Server
import HandstampCore
import HandstampRegistry
import HTTPTypes
import Hummingbird
import Logging

extension SessionServer {
  /// `GET /v1/me`: the signed-in account.
  @concurrent func me(_ request: Request, _ context: ServerContext) async throws -> Response {
    let bearer = try await bearer(of: request, allowing: "profile", context)
    let account = try await account(of: bearer, context)
    var json = account.profile
    // The name used by OpenID Connect's userinfo endpoint.
    json.add("sub", account.id.rawValue)
    if bearer.scopes?.contains("email") ?? true { json.add("email", ifPresent: account.email?.typed) }
    json.add("session_id", bearer.session.rawValue)
    json.add("created_at", account.createdAt.description)
    json.add("created_at_ms", account.createdAt.milliseconds)
    return .json(json)
  }

  /// `POST /v1/password`: changes the password, given the current one, and ends the other sessions on request. The session that
  /// makes the request stays.
  @concurrent func changePassword(_ request: Request, _ context: ServerContext) async throws -> Response {
    let bearer = try await bearer(of: request, context)
    let body = try await request.json(as: PasswordBody.self, upTo: configuration.bodyLimit)
    try PasswordRule.check(attempt: body.current)
    try PasswordRule.check(new: body.new)
    let place = try admitted()
    let account = try await account(of: bearer, context)
    try await requirePassword(body.current, of: account, place, context)
    let hash = try await hashing { () throws(PasswordPool.Busy) in try await place.hash(body.new) }
    try await end(context) { now throws(RegistryError) in
      try await registry.setPassword(
        of: account, hash: hash, keeping: bearer.session, endingOthers: body.endOthers, now: now)
    }
    hub.announce(account.id)
    metrics.update { $0.passwordChanges += 1 }
    context.logger.info("Password changed", metadata: ["handstamp.account": "\(account.id)"])
    return .nothing
  }

  /// `DELETE /v1/me`: permanently deletes the account and ends all its sessions. Requires the password if the account has one.
  @concurrent func deleteAccount(_ request: Request, _ context: ServerContext) async throws -> Response {
    let bearer = try await bearer(of: request, context)
    let body = try await request.optionalJSON(as: DeletionBody.self, upTo: configuration.bodyLimit)
    let place = try admitted()
    let account = try await account(of: bearer, context)
    if account.passwordHash != nil {
      let password = body?.password ?? Secret("")
      try PasswordRule.check(attempt: password)
      try await requirePassword(password, of: account, place, context)
    }
    try await end(context) { now throws(RegistryError) in
      try await registry.deleteAccount(account, now: now)
    }
    hub.announce(account.id)
    metrics.update { $0.accountsDeleted += 1 }
    context.logger.info("Account deleted", metadata: ["handstamp.account": "\(account.id)"])
    return .nothing
  }

  /// Returns the account of a bearer. If it was closed in the meantime, its session has ended.
  func account(of bearer: Bearer, _ context: ServerContext) async throws(Problem) -> AccountRecord {
    let account: AccountRecord?
    do throws(RegistryError) { account = try await registry.account(bearer.account) } catch {
      throw problem(error, context)
    }
    guard let account, account.closedAt == nil else {
      throw .invalidToken(code: "session_ended", "The session has ended", reason: EndReason.accountClosed.rawValue)
    }
    return account
  }

  /// Verifies the password at the cost of one hash, whether the account has one or not. Fails with 403, not 401: the access
  /// token is valid.
  private func requirePassword(
    _ password: Secret, of account: AccountRecord, _ place: PasswordPool.Place, _ context: ServerContext
  ) async throws(Problem) {
    let fits = try await hashing { () throws(PasswordPool.Busy) in
      try await place.verify(password, against: account.passwordHash)
    }
    guard !fits else { return }
    metrics.update { $0.refusedSignIns += 1 }
    context.logger.info("Password refused", metadata: ["handstamp.account": "\(account.id)"])
    throw .wrongPassword
  }
}
#endif
