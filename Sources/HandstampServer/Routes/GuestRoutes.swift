#if Server
import HandstampCore
import HandstampRegistry
import HTTPTypes
import Hummingbird

extension SessionServer {
  /// `POST /v1/sign-in/anonymous`: creates a guest account and its only session.
  @concurrent func signInAnonymously(_ request: Request, _ context: ServerContext) async throws -> Response {
    guard configuration.signUp != .closed else { throw Problem.signUpClosed }
    let body = try await request.json(as: GuestBody.self, upTo: configuration.bodyLimit)
    // A guest costs as much as any other sign-in, so that there is no cheaper way to fill the store.
    _ = try await hashing { () throws(PasswordPool.Busy) in try await passwords.verify(Secret(""), against: nil) }
    metrics.update { $0.guests += 1 }
    return try await begin(status: .created, context) { now throws(RegistryError) in
      try await registry.signUp(email: nil, username: "", passwordHash: nil, device: body.device, now: now)
    }
  }

  /// `POST /v1/upgrade`: turns a guest account into a full one with the same ID, with a session that replaces the guest's. With
  /// confirmed sign-up it answers 202, and the account stays a guest account until the mailed token is redeemed.
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
