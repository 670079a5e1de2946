#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird

/// The signed-in account: its profile, its password, its deletion.
struct AccountController: Sendable {
  let service: AccountService
  let authenticator: Authenticator
  let responses: TokenResponses
  /// Maximum size of a body, in bytes.
  let bodyLimit: Int

  func addRoutes<Context: SessionRequestContext>(
    to routes: some RouterMethods<Context>, ownAccounts: some RouterMethods<Context>
  ) {
    routes.signedIn(by: authenticator, allowing: ["profile"]).prompt { $0.get("/v1/me", use: show) }
    let own = ownAccounts.signedIn(by: authenticator)
    own.delete("/v1/me", use: delete)
    own.post("/v1/password", use: changePassword)
    own.post("/v1/reauthenticate", use: reauthenticate)
  }

  /// `GET /v1/me`: the signed-in account.
  @concurrent func show(
    _ request: Request, _ context: SignedInContext<some SessionRequestContext>
  ) async throws -> Response {
    let account = try await service.registry.account(of: context.session)
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
    try await service.changePassword(
      of: try await service.owner(request, context), from: body.current, to: body.new, endingOthers: body.endOthers)
    return .nothing
  }

  /// `POST /v1/reauthenticate`: the user proves to be the account's owner, for what a session alone may not do. The response is
  /// an access token that may do it.
  @concurrent func reauthenticate(
    _ request: Request, _ context: SignedInContext<some SessionRequestContext>
  ) async throws -> Response {
    let body = try await request.json(as: ReauthenticationBody.self, upTo: bodyLimit)
    let owner = try await service.owner(request, context)
    let methods =
      switch body.proof {
      case .password(let password, let code): try await service.prove(password, code: code, owner)
      case .identity(let token, let nonce, nil): try await service.prove(by: token, nonce: nonce, owner)
      case .identity(let token, let nonce, let provider?):
        try await service.prove(by: token, nonce: nonce, at: provider, owner)
      case .passkey(let answer): try await service.prove(byPasskey: answer, owner)
      }
    let now = service.clock.now
    guard let row = try await service.registry.session(context.session.id, now: now) else {
      throw RegistryError.notFound
    }
    return .json(try responses.reauthenticated(row, by: methods, at: now))
  }

  /// `DELETE /v1/me`: permanently deletes the account and ends all its sessions.
  @concurrent func delete(
    _ request: Request, _ context: SignedInContext<some SessionRequestContext>
  ) async throws -> Response {
    let body = try await request.optionalJSON(as: DeletionBody.self, upTo: bodyLimit)
    try await service.delete(try await service.owner(request, context), password: body?.password)
    return .nothing
  }
}
#endif
