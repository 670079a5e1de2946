#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import HandstampWebAuthn
import HTTPTypes
import Hummingbird

/// The passkeys of the signed-in account, in an app. Each response is the list of those that are left, so that the app can tell the
/// device's credential managers.
struct PasskeysController<Context: SessionRequestContext>: Sendable {
  let service: AccountService
  let authenticator: Authenticator

  func addRoutes(to routes: some RouterMethods<Context>) {
    let own = routes.signedIn(by: authenticator)
    own.get("/v1/passkeys", use: list)
    own.post("/v1/passkeys/options", use: options)
    own.post("/v1/passkeys", use: add)
    own.delete("/v1/passkeys/:id", use: remove)
  }

  /// `GET /v1/passkeys`: the passkeys of the account, the oldest first.
  @concurrent func list(_ request: Request, _ context: SignedInContext<Context>) async throws -> Response {
    try await list(of: try await service.owner(request, context))
  }

  /// `POST /v1/passkeys/options`: what the app passes to the system, as `PublicKeyCredentialCreationOptionsJSON`.
  @concurrent func options(_ request: Request, _ context: SignedInContext<Context>) async throws -> Response {
    let owner = try await service.owner(request, context)
    return .json(try await service.passkeyOptions(boundTo: owner.session.rawValue, of: owner))
  }

  /// `POST /v1/passkeys`: adds the passkey of the system's answer, `RegistrationResponseJSON` as a text.
  @concurrent func add(_ request: Request, _ context: SignedInContext<Context>) async throws -> Response {
    let answer = try await request.json(upTo: service.limits.bodySize).text("passkey")
    let owner = try await service.owner(request, context)
    let device = try await service.registry.session(owner.session, now: service.clock.now)?.device.name ?? ""
    try await service.addPasskey(
      answer, boundTo: owner.session.rawValue, orNamed: device.isEmpty ? "Passkey" : device, of: owner)
    return try await list(of: owner, status: .created)
  }

  /// `DELETE /v1/passkeys/{id}`: removes a passkey. One that is gone already is no error.
  @concurrent func remove(_ request: Request, _ context: SignedInContext<Context>) async throws -> Response {
    let id = try context.decoded("id")
    let owner = try await service.owner(request, context)
    if case .isLast = try await service.removePasskey(id, of: owner) { throw ProblemError.lastPasskey }
    return try await list(of: owner)
  }

  private func list(of owner: AccountService.Owner, status: HTTPResponse.Status = .ok) async throws -> Response {
    guard let passkeys = service.passkeys else { throw AccountError.notOffered(.passkeys) }
    let user = try PasskeyService.user(of: owner.account)
    var json = JSONText()
    json.add("rp_id", passkeys.domain)
    json.add("user_handle", user.handle.text)
    json.add("user_name", user.name)
    json.add(
      "passkeys",
      try await service.registry.passkeys(of: owner.account.id).map { passkey in
        var json = JSONText()
        json.add("id", passkey.id)
        json.add("name", passkey.name)
        json.add("created_at", passkey.createdAt.description)
        json.add("created_at_ms", passkey.createdAt.milliseconds)
        json.add("last_used_at", ifPresent: passkey.lastUsedAt?.description)
        if let used = passkey.lastUsedAt { json.add("last_used_at_ms", used.milliseconds) }
        return json
      })
    return .json(json, status: status)
  }
}

extension ProblemError {
  static let lastPasskey = ProblemError(
    .conflict, "passkey_last", "This is the only way into the account", detail: "Set a password or add another first.")
}
#endif
