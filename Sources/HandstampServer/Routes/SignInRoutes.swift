#if Server
import HandstampCore
import HandstampRegistry
import HTTPTypes
import Hummingbird
import Logging

extension SessionServer {
  /// `POST /v1/sign-up`: creates an account and its first session.
  @concurrent func signUp(_ request: Request, _ context: ServerContext) async throws -> Response {
    guard configuration.signUp != .closed else { throw Problem.signUpClosed }
    let body = try await request.json(as: SignUpBody.self, upTo: configuration.bodyLimit)
    try PasswordRule.check(new: body.password)
    if configuration.signUp == .confirmed {
      return try await confirmationSent(to: body, context) { hash, now throws(RegistryError) in
        try await registry.beginSignUp(email: body.email, username: body.username, passwordHash: hash, now: now)
      }
    }
    // Hash before the address is looked up, so that the response time is the same either way.
    let hash = try await hashing { () throws(PasswordPool.Busy) in try await passwords.hash(body.password) }
    return try await begin(status: .created, context) { now throws(RegistryError) in
      try await registry.signUp(
        email: body.email, username: body.username, passwordHash: hash, device: body.device, now: now)
    }
  }

  /// `POST /v1/sign-in`: signs in with email address and password.
  @concurrent func signIn(_ request: Request, _ context: ServerContext) async throws -> Response {
    let body = try await request.json(as: SignInBody.self, upTo: configuration.bodyLimit)
    try PasswordRule.check(attempt: body.password)
    let account = try await whoever(has: body.email, body.password, context)
    return try await begin(status: .ok, context) { now throws(RegistryError) in
      try await registry.createSession(for: account, device: body.device, now: now)
    }
  }

  /// Returns the account with this email address and password.
  ///
  /// - Throws: ``Problem/wrongCredentials`` if there is none, or it is closed.
  func whoever(
    has email: EmailAddress, _ password: Secret, _ context: ServerContext
  ) async throws(Problem) -> AccountRecord {
    // Before the account is looked up: in a flood, requests must not wait for the store only to be refused.
    let place = try admitted()
    let found: AccountRecord?
    do throws(RegistryError) { found = try await registry.account(email: email) } catch {
      throw problem(error, context)
    }
    // One hash, whether the account exists or not.
    let fits = try await hashing { () throws(PasswordPool.Busy) in
      try await place.verify(password, against: found?.passwordHash)
    }
    guard fits, let account = found, account.closedAt == nil else {
      metrics.update { $0.refusedSignIns += 1 }
      context.logger.info("Sign-in refused")
      throw .wrongCredentials
    }
    return account
  }

  /// Creates a session, notifies open event streams, and returns the response. The status is 201 if an account was created.
  func begin(
    status: HTTPResponse.Status, _ context: ServerContext,
    _ work: (UnixTime) async throws(RegistryError) -> NewSession
  ) async throws -> Response {
    let new: NewSession
    do throws(RegistryError) { new = try await work(now()) } catch { throw problem(error, context) }
    hub.announce(new.account.id)
    metrics.update {
      $0.signIns += 1
      if status == .created { $0.signUps += 1 }
    }
    context.logger.info(
      status == .created ? "Account created" : "Signed in",
      metadata: ["handstamp.account": "\(new.account.id)", "handstamp.session": "\(new.row.id)"])
    var json = try tokenAnswer(new.row, new.refreshToken)
    json.add("revocation_handle", new.revocationHandle.secret.withExposed { $0 })
    json.add("profile", new.account.profile)
    return .json(json, status: status)
  }

  /// Reserves a place in the queue for password hashing.
  func admitted() throws(Problem) -> PasswordPool.Place {
    do throws(PasswordPool.Busy) { return try passwords.admit() } catch { throw .busy }
  }

  func hashing<Value: Sendable>(
    _ work: () async throws(PasswordPool.Busy) -> Value
  ) async throws(Problem) -> Value {
    do throws(PasswordPool.Busy) { return try await work() } catch { throw .busy }
  }

  /// Returns the members that the responses to sign-in and refresh have in common (RFC 6749 section 5.1).
  ///
  /// - Parameter client: the narrowed grant of this token, if it is less than the session's.
  func tokenAnswer(
    _ row: SessionRow, _ refreshToken: RefreshToken, for client: SessionClient? = nil
  ) throws -> JSONText {
    let client = client ?? row.client
    let access = try tokens.mint(
      account: row.account, session: row.id, client: client, thumbprint: row.dpopThumbprint, at: clock.read().forTokens,
      until: row.absoluteExpiry)
    var json = JSONText(reserving: 1024)
    json.add("access_token", access.text)
    json.add("token_type", row.dpopThumbprint == nil ? "Bearer" : "DPoP")
    json.add("expires_in", access.life)
    json.add("refresh_token", refreshToken.secret.withExposed { $0 })
    json.add("scope", ifPresent: client.map(\.scope).flatMap { $0.isEmpty ? nil : $0 })
    json.add("session_id", row.id.rawValue)
    return json
  }

  /// Returns the problem of the JSON API for a registry error.
  func problem(_ error: RegistryError, _ context: ServerContext) -> Problem {
    switch error {
    case .emailTaken: return .emailTaken
    case .notFound: return .notFound
    case .oneTimeTokenInvalid: return .oneTimeTokenInvalid
    case .notGuest: return .notGuest
    case .nonceUsed: return .badIDToken
    case .accountClosed: return .wrongCredentials
    // The password may have changed in the meantime; it must be checked again.
    case .accountChanged: return .unavailable
    case .unavailable, .unknownKey:
      report(error, context)
      return .unavailable
    }
  }

  /// Logs errors that concern the operator.
  func report(_ error: RegistryError, _ context: ServerContext) {
    switch error {
    case .unavailable(let cause):
      metrics.update { $0.storeFailures += 1 }
      context.logger.error("Store unavailable", metadata: ["handstamp.cause": "\(cause)"])
    case .unknownKey(let id):
      context.logger.error("Token signed with a key that is not in the key file", metadata: ["handstamp.kid": "\(id)"])
    case .accountChanged, .accountClosed, .notFound, .emailTaken, .oneTimeTokenInvalid, .notGuest, .nonceUsed: break
    }
  }
}

extension AccountRecord {
  /// The account's `profile` as sent to apps.
  var profile: JSONText {
    var json = JSONText()
    json.add("id", id.rawValue)
    json.add("name", username)
    json.add("is_anonymous", isGuest)
    return json
  }
}
#endif
