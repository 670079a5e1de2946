#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird

/// Sign-in with a passkey in an app, such as with Apple's `ASAuthorizationPlatformPublicKeyCredentialProvider`.
struct PasskeySignInController: Sendable {
  /// The binding of the challenges of apps: none, because they have no cookies. They expire, and are used once.
  static let app = "app"

  let service: AccountService
  let sessions: SessionIssuer
  /// Maximum size of a body, in bytes.
  let bodyLimit: Int

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.post("/v1/sign-in/passkey/options", use: options)
    routes.post("/v1/sign-in/passkey", use: signIn)
  }

  /// `POST /v1/sign-in/passkey/options`: what the app passes to the system, as `PublicKeyCredentialRequestOptionsJSON`.
  @concurrent func options(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    guard let passkeys = service.passkeys else { throw ProblemError.noPasskeys }
    return .json(try passkeys.requestOptions(boundTo: PasskeySignInController.app))
  }

  /// `POST /v1/sign-in/passkey`: signs in with the system's answer.
  @concurrent func signIn(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    guard service.passkeys != nil else { throw ProblemError.noPasskeys }
    let body = try await request.json(as: PasskeyBody.self, upTo: bodyLimit)
    let binding = try sessions.binding(of: request)
    let new = try await service.signIn(
      byPasskey: body.answer, binding.start(body.device, body.key), by: service.caller(request, context))
    return try sessions.answer(new, binding)
  }
}

/// The body of `POST /v1/sign-in/passkey`.
struct PasskeyBody: JSONBody {
  /// `AuthenticationResponseJSON`, as a text: it is signed, and its readers are strict.
  var answer: String
  var device: DeviceInfo
  var key: RotationKey?

  init(_ fields: JSONFields) throws(ProblemError) {
    answer = try fields.text("passkey")
    device = try fields.device()
    key = try fields.rotationKey()
  }
}

extension ProblemError {
  static let noPasskeys = notOffered("This server has no passkeys")
}
#endif
