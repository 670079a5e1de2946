#if Server
import HandstampCore
import HandstampRegistry
import HTTPTypes
import Hummingbird

/// New accounts: sign-up, guests, and guests who become full accounts.
struct SignUpController<Context: SessionRequestContext>: Sendable {
  let service: AccountService
  let sessions: SessionIssuer
  let authenticator: Authenticator

  func addRoutes(to routes: some RouterMethods<Context>, ownAccounts: some RouterMethods<Context>) {
    routes.post("/v1/sign-up", use: create)
    ownAccounts.post("/v1/sign-up/confirm", use: confirm)
    ownAccounts.post("/v1/sign-in/anonymous", use: createGuest)
    let own = ownAccounts.signedIn(by: authenticator)
    own.post("/v1/upgrade", use: upgrade)
    own.post("/v1/upgrade/passkey/options", use: upgradeOptions)
  }

  /// `POST /v1/sign-up`: creates an account and its first session, or answers 202 for every address.
  @concurrent func create(_ request: Request, _ context: Context) async throws -> Response {
    let (new, proof) = try account(in: try await request.json(upTo: service.limits.bodySize), of: request)
    return try response(try await service.signUp(new, by: service.caller(request, context)), proof, status: .created)
  }

  /// `POST /v1/sign-up/confirm`: redeems a mailed one-time token.
  @concurrent func confirm(_ request: Request, _ context: Context) async throws -> Response {
    let body = try await request.json(upTo: service.limits.bodySize)
    let (token, password) = (try body.secret("token"), try body.secret("password"))
    let (start, proof) = try sessions.start(of: request, body)
    let new = try await service.confirm(token, password: password, start, by: service.caller(request, context))
    return try sessions.response(new, proof, status: .created)
  }

  /// `POST /v1/sign-in/anonymous`: creates a guest account and its only session.
  @concurrent func createGuest(_ request: Request, _ context: Context) async throws -> Response {
    let (start, proof) = try sessions.start(of: request, try await request.json(upTo: service.limits.bodySize))
    let new = try await service.beginGuest(start, by: service.caller(request, context))
    return try sessions.response(new, proof, status: .created)
  }

  /// `POST /v1/upgrade`: turns a guest account into a full one, with a session that replaces the guest's with its first use; or
  /// answers 202. Its owner signs in with a password, with Apple, or with a passkey from then on.
  @concurrent func upgrade(_ request: Request, _ context: SignedInContext<Context>) async throws -> Response {
    let body = try await request.json(upTo: service.limits.bodySize)
    let owner = try await service.owner(request, context)
    if body.contains("id_token") {
      let (token, nonce, username) = try body.identity()
      let (start, proof) = try sessions.start(of: request, body, replacing: context.session)
      let code = try body.optionalSecret("authorization_code")
      let new = try await service.upgrade(
        owner, toApple: token, nonce: nonce, code: code, username: username, start)
      return try sessions.response(new, proof)
    }
    if let passkey = try body.optionalText("passkey") {
      let (email, username) = (try body.newEmail(), try body.name("username"))
      let (start, proof) = try sessions.start(of: request, body, replacing: context.session)
      let name = start.device.name.isEmpty ? "Passkey" : start.device.name
      let new = try await service.upgrade(
        owner, toPasskey: passkey, email: email, username: username, orNamed: name, start)
      return try sessions.response(new, proof)
    }
    let (full, proof) = try account(in: body, of: request, replacing: context.session)
    return try response(try await service.upgrade(owner, to: full), proof, status: .ok)
  }

  /// `POST /v1/upgrade/passkey/options`: what a guest's app passes to the system, as `PublicKeyCredentialCreationOptionsJSON`.
  @concurrent func upgradeOptions(_ request: Request, _ context: SignedInContext<Context>) async throws -> Response {
    let body = try await request.json(upTo: service.limits.bodySize)
    let (email, username) = (try body.newEmail(), try body.name("username"))
    let owner = try await service.owner(request, context)
    return .json(try await service.upgradeOptions(owner, email: email, username: username))
  }

  /// Returns the account that a body asks for. Where addresses are confirmed, the password is ignored: the owner of the address chooses
  /// it then.
  private func account(
    in body: JSONFields, of request: Request, replacing session: AuthenticatedSession? = nil
  ) throws -> (NewAccount, DPoPVerifier.Proof?) {
    let (email, username) = (try body.newEmail(), try body.name("username"))
    let password = try body.optionalSecret("password")
    let (start, proof) = try sessions.start(of: request, body, replacing: session)
    return (NewAccount(email: email, username: username, password: password, session: start), proof)
  }

  private func response(
    _ result: AccountService.SignUpResult, _ proof: DPoPVerifier.Proof?, status: HTTPResponse.Status
  ) throws -> Response {
    switch result {
    case .session(let new): try sessions.response(new, proof, status: status)
    case .confirmationSent: .accepted("confirmation_sent")
    }
  }
}
#endif
