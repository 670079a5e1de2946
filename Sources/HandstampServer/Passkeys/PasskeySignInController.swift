#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird

/// Sign-in with a passkey in an app, such as with Apple's `ASAuthorizationPlatformPublicKeyCredentialProvider`.
struct PasskeySignInController: Sendable {
  /// What the challenges of apps are bound to: nothing, for they have no cookies. They expire, and are used once.
  static let app = "app"

  let desk: AccountDesk
  let sessions: SessionIssuer
  /// Maximum size of a body, in bytes.
  let bodyLimit: Int

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.post("/v1/sign-in/passkey/options", use: options)
    routes.post("/v1/sign-in/passkey", use: signIn)
  }

  /// `POST /v1/sign-in/passkey/options`: what the app passes to the system, as `PublicKeyCredentialRequestOptionsJSON`.
  @concurrent func options(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    guard let passkeys = desk.passkeys else { throw Problem.noPasskeys }
    return .options(try passkeys.requestOptions(boundTo: PasskeySignInController.app))
  }

  /// `POST /v1/sign-in/passkey`: signs in with the system's answer.
  @concurrent func signIn(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    guard desk.passkeys != nil else { throw Problem.noPasskeys }
    let body = try await request.json(as: PasskeyBody.self, upTo: bodyLimit)
    let binding = try sessions.binding(of: request)
    let new = try await desk.signIn(
      byPasskey: body.answer, binding.start(body.device, body.key), by: desk.caller(request, context))
    return try sessions.answer(new, binding)
  }
}

/// The body of `POST /v1/sign-in/passkey`.
struct PasskeyBody: JSONBody {
  /// `AuthenticationResponseJSON`, as a text: it is signed, and its readers are strict.
  var answer: String
  var device: DeviceInfo
  var key: RotationKey?

  init(_ fields: JSONFields) throws(Problem) {
    answer = try fields.text("passkey")
    device = try fields.device()
    key = try fields.rotationKey()
  }
}

extension Problem {
  static let noPasskeys = notOffered("This server has no passkeys")
}
#endif
