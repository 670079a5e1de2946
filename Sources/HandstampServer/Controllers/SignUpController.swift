#if Server
import HandstampCore
import HandstampRegistry
import HTTPTypes
import Hummingbird
import Logging

/// New accounts: sign-up, guests, and guests who become full accounts.
struct SignUpController: Sendable {
  let registry: Registry
  let accounts: any Accounts
  let passwords: PasswordPool
  let policy: PasswordPolicy
  let sessions: SessionIssuer
  let outbox: Outbox
  let authenticator: Authenticator
  let limits: RequestLimits
  let clock: ServerClock
  let metrics: ServerMetrics
  let signUp: ServerConfiguration.SignUp
  /// Maximum size of a body, in bytes.
  let bodyLimit: Int

  func addRoutes<Context: SessionRequestContext>(
    to routes: some RouterMethods<Context>, ownAccounts: some RouterMethods<Context>
  ) {
    routes.post("/v1/sign-up", use: create)
    ownAccounts.post("/v1/sign-up/confirm", use: confirm)
    ownAccounts.post("/v1/sign-in/anonymous", use: createGuest)
    ownAccounts.signedIn(by: authenticator).post("/v1/upgrade", use: upgrade)
  }

  /// `POST /v1/sign-up`: creates an account and its first session.
  @concurrent func create(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    guard signUp != .closed else { throw Problem.signUpClosed }
    let body = try await request.json(as: SignUpBody.self, upTo: bodyLimit)
    let client = limits.client(of: request, context)
    if signUp == .confirmed { return try await sendConfirmation(to: body, client) }
    let password = try body.requiredPassword
    try limits.takeOwn(.signUps, from: client)
    try policy.check(new: password, of: body.email, body.username)
    try limits.takeShared(.signUps)
    let binding = try sessions.binding(of: request)
    let make = try await accounts.newAccount(body, password: password, boundTo: binding.thumbprint)
    return try await sessions.begin(binding, status: .created, logger: context.logger, make)
  }

  /// Answers 202 for every address. Whether the address has an account is looked up later: either a mail with a one-time token,
  /// or one saying that there is an account, goes to that mailbox.
  ///
  /// The password is chosen with that token: one from this request would be known to the one who typed the address.
  private func sendConfirmation(
    to body: SignUpBody, _ client: ClientAddress, of guest: AccountRecord? = nil
  ) async throws -> Response {
    try limits.take(.signUps, from: client)
    guard Mailbox(body.email) != nil else {
      throw Problem.invalidRequest("email: mail cannot be sent to this address.")
    }
    try limits.take(.mails, from: client, about: body.email.normalized)
    try await outbox.add(.confirmation(body.email, username: body.username, guest: guest?.id), to: body.email)
    return .accepted("confirmation_sent")
  }

  /// `POST /v1/sign-up/confirm`: redeems a mailed one-time token: creates the account or upgrades the guest account, sets the
  /// password, and signs in.
  @concurrent func confirm(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let body = try await request.json(as: ConfirmBody.self, upTo: bodyLimit)
    let binding = try sessions.binding(of: request)
    try limits.takeOwn(.codes, from: limits.client(of: request, context))
    guard let token = OneTimeToken(presented: body.token) else { throw Problem.oneTimeTokenInvalid }
    // Do not spend a hash on guesses, nor what all clients share.
    guard let confirmed = try await registry.signUp(confirmedBy: token, now: clock.now) else {
      guard let key = body.key,
        let repeated = try await registry.repeatedConfirmation(
          token, device: body.device, thumbprint: binding.thumbprint, key: key, now: clock.now)
      else { throw Problem.oneTimeTokenInvalid }
      return try await handOut(repeated, to: body.password, binding, status: .created, context.logger)
    }
    try limits.takeShared(.codes)
    let place = try passwords.admit()
    try policy.check(new: body.password, of: confirmed.email, confirmed.username)
    let hash = try await place.hash(body.password)
    return try await sessions.begin(binding, status: .created, logger: context.logger) { now in
      try await registry.confirm(
        token, passwordHash: hash, device: body.device, thumbprint: binding.thumbprint, key: body.key, now: now)
    }
  }

  /// Repeats the response to a request with the same key, for a client that knows the account's password.
  private func handOut(
    _ repeated: NewSession, to password: Secret, _ binding: SessionIssuer.Binding, status: HTTPResponse.Status,
    _ logger: Logger
  ) async throws -> Response {
    guard try await passwords.verify(password, against: repeated.account.passwordHash) else {
      throw Problem.rotationKeyUsed
    }
    return try await sessions.begin(binding, status: status, logger: logger) { _ in repeated }
  }

  /// `POST /v1/sign-in/anonymous`: creates a guest account and its only session.
  @concurrent func createGuest(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    guard signUp != .closed else { throw Problem.signUpClosed }
    let body = try await request.json(as: GuestBody.self, upTo: bodyLimit)
    let binding = try sessions.binding(of: request)
    try limits.take(.signUps, from: limits.client(of: request, context))
    // A guest costs as much as any other sign-in, so that there is no cheaper way to fill the store.
    _ = try await passwords.verify(Secret(""), against: nil)
    metrics.update { $0.guests += 1 }
    return try await sessions.begin(binding, status: .created, logger: context.logger) { now in
      try await registry.signUp(
        email: nil, username: "", passwordHash: nil, device: body.device, thumbprint: binding.thumbprint, key: body.key,
        now: now)
    }
  }

  /// `POST /v1/upgrade`: turns a guest account into a full one with the same ID, with a session that replaces the guest's
  /// with its first use. With confirmed sign-up it answers 202, and the account stays a guest account until the mailed token is redeemed.
  @concurrent func upgrade(
    _ request: Request, _ context: SignedInContext<some SessionRequestContext>
  ) async throws -> Response {
    guard signUp != .closed else { throw Problem.signUpClosed }
    let body = try await request.json(as: SignUpBody.self, upTo: bodyLimit)
    let client = limits.client(of: request, context.parent)
    if signUp == .confirmed {
      return try await sendConfirmation(to: body, client, of: try await guest(of: context.session))
    }
    let password = try body.requiredPassword
    let guest = try await registry.account(of: context.session)
    let binding = try sessions.binding(of: request, replacing: context.session)
    try limits.takeOwn(.signUps, from: client)
    guard guest.isGuest else {
      guard let key = body.key, guest.email?.normalized == body.email.normalized,
        let repeated = try await registry.repeatedUpgrade(
          of: guest, device: body.device, thumbprint: binding.thumbprint, key: key, now: clock.now)
      else { throw Problem.notGuest }
      return try await handOut(repeated, to: password, binding, status: .ok, context.logger)
    }
    try policy.check(new: password, of: body.email, body.username)
    try limits.takeShared(.signUps)
    let hash = try await passwords.hash(password)
    metrics.update { $0.upgrades += 1 }
    return try await sessions.begin(binding, status: .ok, logger: context.logger) { now in
      try await registry.upgrade(
        guest, email: body.email, username: body.username, passwordHash: hash, device: body.device,
        thumbprint: binding.thumbprint, key: body.key, now: now)
    }
  }

  private func guest(of session: AuthenticatedSession) async throws -> AccountRecord {
    let guest = try await registry.account(of: session)
    guard guest.isGuest else { throw Problem.notGuest }
    return guest
  }
}
#endif
