#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird

/// The signed-in account: its profile, its password, its deletion. A forgotten password is replaced with a mailed one-time token.
struct AccountController<Context: SessionRequestContext>: Sendable {
  let service: AccountService
  let authenticator: Authenticator
  let responses: TokenResponses

  func addRoutes(to routes: some RouterMethods<Context>, ownAccounts: some RouterMethods<Context>) {
    routes.signedIn(by: authenticator, allowing: ["profile"]).get(.prompt(.me), use: show)
    let own = ownAccounts.signedIn(by: authenticator)
    own.delete("/v1/me", use: delete)
    own.post("/v1/password", use: changePassword)
    own.get("/v1/reauthenticate", use: proofs)
    own.post("/v1/reauthenticate", use: reauthenticate)
    own.post("/v1/reauthenticate/mail", use: mailProof)
    ownAccounts.post("/v1/password-reset", use: requestReset)
    ownAccounts.post("/v1/password-reset/confirm", use: resetPassword)
  }

  /// `GET /v1/me`: the signed-in account.
  @concurrent func show(_ request: Request, _ context: SignedInContext<Context>) async throws -> Response {
    let account = try await service.registry.account(of: context.session)
    var json = account.profile
    AccountMembers.me.add(account, to: &json)
    if context.session.scopes?.contains("email") ?? true { json.add("email", ifPresent: account.email?.typed) }
    json.add("session_id", context.session.id.rawValue)
    return .json(json)
  }

  /// `POST /v1/password`: changes the password, given the current one and the code of an authenticator app that the account may ask
  /// for, or a recent proof by a passkey; or sets the first one. Ends the other sessions on request. The session that makes the request
  /// stays.
  @concurrent func changePassword(_ request: Request, _ context: SignedInContext<Context>) async throws -> Response {
    let body = try await request.json(upTo: service.limits.bodySize)
    let (current, new) = (try body.optionalSecret("current"), try body.secret("new"))
    let (endsOthers, code) = (try body.flag("end_others"), try body.optionalSecret("code"))
    let owner = try await service.owner(request, context)
    if owner.account.passwordHash == nil, current == nil {
      try await service.setFirstPassword(of: owner, to: new, endingOthers: endsOthers)
    } else {
      try await service.changePassword(of: owner, from: current, code: code, to: new, endingOthers: endsOthers)
    }
    return .nothing
  }

  /// `POST /v1/password-reset`: answers 202 for every address, before it is looked up. A mail is sent later if there is a password
  /// to reset.
  @concurrent func requestReset(_ request: Request, _ context: Context) async throws -> Response {
    let email = try await request.json(upTo: service.limits.bodySize).email()
    try await service.requestReset(of: email, by: service.caller(request, context))
    return .accepted("mail_sent")
  }

  /// `POST /v1/password-reset/confirm`: sets the password, ends every session of the account, and takes it back: passkeys, recovery
  /// codes, consents and known devices stay only on request.
  @concurrent func resetPassword(_ request: Request, _ context: Context) async throws -> Response {
    let body = try await request.json(upTo: service.limits.bodySize)
    try await service.resetPassword(
      with: try body.secret("token"), to: try body.secret("new_password"),
      keepingOthers: try body.optionalFlag("keep_passkeys"), by: service.caller(request, context))
    return .nothing
  }

  /// `GET /v1/reauthenticate`: how the account's owner can prove to be that.
  @concurrent func proofs(_ request: Request, _ context: SignedInContext<Context>) async throws -> Response {
    let owner = try await service.owner(request, context)
    return .json("proofs", try await service.proofs(of: owner.account).map(\.rawValue))
  }

  /// `POST /v1/reauthenticate`: the user proves to be the account's owner, for what a session alone may not do. The response is
  /// an access token that may do it.
  @concurrent func reauthenticate(_ request: Request, _ context: SignedInContext<Context>) async throws -> Response {
    let body = try await request.json(upTo: service.limits.bodySize)
    let methods = try await prove(body, try await service.owner(request, context))
    let now = service.clock.now
    guard let row = try await service.registry.session(context.session.id, now: now) else {
      throw RegistryError.notFound
    }
    // This token alone has the new `auth_time`. Copies of the session's other tokens gain nothing, nor do those that are refreshed
    // from them (RFC 9068 section 2.2.1).
    return .json(try responses.tokens(of: row, for: row.client, proof: (now, methods)))
  }

  /// `POST /v1/reauthenticate/mail`: mails a code to the owner of an account that has neither password nor passkey.
  @concurrent func mailProof(_ request: Request, _ context: SignedInContext<Context>) async throws -> Response {
    _ = try await service.mailProof(to: try await service.owner(request, context))
    return .accepted("mail_sent")
  }

  /// Checks a password, with the one-time password that the account may ask for; a passkey's answer (`AuthenticationResponseJSON`); a
  /// mailed code; or a token of another identity provider with its nonce: of the one with that ID, or of Apple.
  private func prove(_ body: JSONFields, _ owner: AccountService.Owner) async throws -> AuthenticationMethods {
    if body.contains("id_token") {
      let (token, nonce) = (try body.secret("id_token"), try body.text("nonce"))
      guard let provider = try body.optionalText("provider") else {
        return try await service.prove(by: token, nonce: nonce, owner)
      }
      return try await service.prove(by: token, nonce: nonce, at: provider, owner)
    }
    if let code = try body.optionalSecret("mailed_code") { return try await service.prove(byMailed: code, owner) }
    if let answer = try body.optionalText("passkey") { return try await service.prove(byPasskey: answer, owner) }
    return try await service.prove(try body.secret("password"), code: try body.optionalSecret("code"), owner)
  }

  /// `DELETE /v1/me`: permanently deletes the account and ends all its sessions. The body has the password of an account with one, and
  /// the code of an authenticator app that the account may ask for; or the token shows a recent proof by a passkey.
  @concurrent func delete(_ request: Request, _ context: SignedInContext<Context>) async throws -> Response {
    let body = try await request.optionalJSON(upTo: service.limits.bodySize)
    try await service.delete(
      try await service.owner(request, context), password: try body?.optionalSecret("password"),
      code: try body?.optionalSecret("code"))
    return .nothing
  }
}
#endif
