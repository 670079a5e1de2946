#if Server
import HandstampCore
import HandstampRegistry
import HTTPTypes
import Hummingbird

extension SessionServer {
  /// `POST /v1/sign-in/anonymous`: an account without a name, and its only session.
  @concurrent func signInAnonymously(_ request: Request, _ context: ServerContext) async throws -> Response {
    guard configuration.signUp != .closed else { throw Problem.signUpClosed }
    let body = try await request.json(as: GuestBody.self, upTo: configuration.bodyLimit)
    // A guest costs as much as any other sign-in: nothing is a cheaper way to fill the store.
    _ = try await hashing { () throws(PasswordPool.Busy) in try await passwords.verify(Secret(""), against: nil) }
    metrics.update { $0.guests += 1 }
    return try await begin(status: .created, context) { now throws(RegistryError) in
      try await registry.signUp(email: nil, username: "", passwordHash: nil, device: body.device, now: now)
    }
  }

  /// `POST /v1/upgrade`: a full account out of a guest's, under the same id, and a session that replaces the guest's. Where
  /// addresses are confirmed first, 202, and the guest stays a guest until the link is opened.
  @concurrent func upgrade(_ request: Request, _ context: ServerContext) async throws -> Response {
    guard configuration.signUp != .closed else { throw Problem.signUpClosed }
    let bearer = try await bearer(of: request, context)
    let body = try await request.json(as: SignUpBody.self, upTo: configuration.bodyLimit)
    try PasswordRule.check(new: body.password)
    let guest = try await account(of: bearer, context)
    guard guest.isGuest else { throw Problem.notGuest }
    if configuration.signUp == .confirmed {
      return try await confirmationSent(to: body, context) { hash, now throws(RegistryError) in
        try await registry.beginUpgrade(
          of: guest, email: body.email, username: body.username, passwordHash: hash, now: now)
      }
    }
    let hash = try await hashing { () throws(PasswordPool.Busy) in try await passwords.hash(body.password) }
    metrics.update { $0.upgrades += 1 }
    return try await begin(status: .ok, context) { now throws(RegistryError) in
      try await registry.upgrade(
        guest, email: body.email, username: body.username, passwordHash: hash, device: body.device, now: now)
    }
  }
}
#endif
