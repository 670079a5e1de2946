#if Server
import HandstampCore
import Hummingbird

/// Forgotten passwords: a mailed one-time token sets a new one.
struct PasswordResetController: Sendable {
  let service: AccountService
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
    try await service.requestReset(of: email, by: service.caller(request, context))
    return .accepted("mail_sent")
  }

  /// `POST /v1/password-reset/confirm`: sets the password, ends every session of the account, and takes it back.
  @concurrent func confirm(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let body = try await request.json(as: ResetConfirmBody.self, upTo: bodyLimit)
    try await service.resetPassword(
      with: body.token, to: body.password, keepingOthers: body.keepsOthers, by: service.caller(request, context))
    return .nothing
  }
}
#endif
