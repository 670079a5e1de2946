#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird
import Logging

/// New accounts: sign-up, guests, and guests who become full accounts.
struct SignUpController: Sendable {
  let registry: Registry
  let accounts: any Accounts
  let passwords: PasswordPool
  let policy: PasswordPolicy
  let sessions: SessionIssuer
  let mails: AccountMails
  let authenticator: Authenticator
  let limits: RequestLimits
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
    try policy.check(new: body.password, of: body.email, body.username)
    let binding = try sessions.binding(of: request)
    let client = limits.client(of: request, context)
    try limits.take(.signUps, from: client)
    if signUp == .confirmed {
      return try await confirmationSent(to: body, client, context.logger) { hash, now throws(RegistryError) in
        try await registry.beginSignUp(email: body.email, username: body.username, passwordHash: hash, now: now)
      }
    }
    let make = try await accounts.newAccount(body, boundTo: binding.thumbprint)
    return try await sessions.begin(binding, status: .created, logger: context.logger, make)
  }

  /// Answers 202 for every address. Whether the address has an account is looked up after the response: either a mail with a
  /// one-time token, or one saying that there is an account, goes to that mailbox.
  private func confirmationSent(
    to body: SignUpBody, _ client: ClientAddress, _ logger: Logger,
    _ issue: @escaping @Sendable (_ hash: Secret, _ now: UnixTime) async throws(RegistryError) -> OneTimeToken
  ) async throws -> Response {
    guard Mailbox(body.email) != nil else {
      throw Problem.invalidRequest("email: mail cannot be sent to this address.")
    }
    try limits.take(.mails, from: client, about: body.email.normalized)
    let hash = try await passwords.hash(body.password)
    try mails.later("sign-up", to: body.email, logger: logger) { [registry, mails] now in
      if try await registry.account(email: body.email) != nil {
        await mails.send(.known, to: body.email, nil)
      } else {
        await mails.send(.confirm, to: body.email, try await issue(hash, now))
      }
    }
    return .accepted("confirmation_sent")
  }

  /// `POST /v1/sign-up/confirm`: redeems a mailed one-time token: creates the account or upgrades the guest account, and
  /// signs in.
  @concurrent func confirm(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let body = try await request.json(as: ConfirmBody.self, upTo: bodyLimit)
    let binding = try sessions.binding(of: request)
    try limits.take(.codes, from: limits.client(of: request, context))
    guard let token = OneTimeToken(presented: body.token) else { throw Problem.oneTimeTokenInvalid }
    return try await sessions.begin(binding, status: .created, logger: context.logger) { now in
      try await registry.confirm(token, device: body.device, thumbprint: binding.thumbprint, now: now)
    }
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
        email: nil, username: "", passwordHash: nil, device: body.device, thumbprint: binding.thumbprint, now: now)
    }
  }

  /// `POST /v1/upgrade`: turns a guest account into a full one with the same ID, with a session that replaces the guest's. With
  /// confirmed sign-up it answers 202, and the account stays a guest account until the mailed token is redeemed.
  @concurrent func upgrade(
    _ request: Request, _ context: SignedInContext<some SessionRequestContext>
  ) async throws -> Response {
    guard signUp != .closed else { throw Problem.signUpClosed }
    let body = try await request.json(as: SignUpBody.self, upTo: bodyLimit)
    try policy.check(new: body.password, of: body.email, body.username)
    let guest = try await registry.account(of: context.session)
    guard guest.isGuest else { throw Problem.notGuest }
    let binding = try sessions.binding(of: request, replacing: context.session)
    let client = limits.client(of: request, context.parent)
    try limits.take(.signUps, from: client)
    if signUp == .confirmed {
      return try await confirmationSent(to: body, client, context.logger) { hash, now throws(RegistryError) in
        try await registry.beginUpgrade(
          of: guest, email: body.email, username: body.username, passwordHash: hash, now: now)
      }
    }
    let hash = try await passwords.hash(body.password)
    metrics.update { $0.upgrades += 1 }
    return try await sessions.begin(binding, status: .ok, logger: context.logger) { now in
      try await registry.upgrade(
        guest, email: body.email, username: body.username, passwordHash: hash, device: body.device,
        thumbprint: binding.thumbprint, now: now)
    }
  }
}
#endif
