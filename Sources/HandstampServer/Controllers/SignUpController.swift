#if Server
import HandstampCore
import HandstampRegistry
import HTTPTypes
import Hummingbird

/// New accounts: sign-up, guests, and guests who become full accounts.
struct SignUpController: Sendable {
  let service: AccountService
  let sessions: SessionIssuer
  let authenticator: Authenticator
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

  /// `POST /v1/sign-up`: creates an account and its first session, or answers 202 for every address.
  @concurrent func create(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let body = try await request.json(as: SignUpBody.self, upTo: bodyLimit)
    let binding = try sessions.binding(of: request)
    let result = try await service.signUp(body.account(binding), by: service.caller(request, context))
    return try answer(result, binding, status: .created)
  }

  /// `POST /v1/sign-up/confirm`: redeems a mailed one-time token.
  @concurrent func confirm(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let body = try await request.json(as: ConfirmBody.self, upTo: bodyLimit)
    let binding = try sessions.binding(of: request)
    let new = try await service.confirm(
      body.token, password: body.password, binding.start(body.device, body.key), by: service.caller(request, context))
    return try sessions.answer(new, binding, status: .created)
  }

  /// `POST /v1/sign-in/anonymous`: creates a guest account and its only session.
  @concurrent func createGuest(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let body = try await request.json(as: GuestBody.self, upTo: bodyLimit)
    let binding = try sessions.binding(of: request)
    let new = try await service.beginGuest(binding.start(body.device, body.key), by: service.caller(request, context))
    return try sessions.answer(new, binding, status: .created)
  }

  /// `POST /v1/upgrade`: turns a guest account into a full one, with a session that replaces the guest's with its first use; or
  /// answers 202.
  @concurrent func upgrade(
    _ request: Request, _ context: SignedInContext<some SessionRequestContext>
  ) async throws -> Response {
    let body = try await request.json(as: SignUpBody.self, upTo: bodyLimit)
    let owner = try await service.owner(request, context)
    let binding = try sessions.binding(of: request, replacing: context.session)
    return try answer(try await service.upgrade(owner, to: body.account(binding)), binding, status: .ok)
  }

  private func answer(
    _ result: AccountService.SignUpResult, _ binding: SessionIssuer.Binding, status: HTTPResponse.Status
  ) throws -> Response {
    switch result {
    case .began(let new): try sessions.answer(new, binding, status: status)
    case .confirmationSent: .accepted("confirmation_sent")
    }
  }
}

extension SignUpBody {
  fileprivate func account(_ binding: SessionIssuer.Binding) -> NewAccount {
    NewAccount(email: email, username: username, password: password, session: binding.start(device, key))
  }
}
#endif
