#if Server
import HandstampCore
import HandstampRegistry
import Logging

/// Accounts in the server's own registry, with their passwords. An account and its first session are created in one write.
struct RegistryAccounts: Accounts {
  let registry: Registry
  let passwords: PasswordPool
  let metrics: ServerMetrics

  func account(email: EmailAddress, password: Secret, logger: Logger) async throws -> AccountRecord {
    try PasswordRule.check(attempt: password)
    // Before the account is looked up: in a flood, requests must not wait for the store only to be refused.
    let place = try passwords.admit()
    let found = try await registry.account(email: email)
    // One hash, whether the account exists or not.
    let fits = try await place.verify(password, against: found?.passwordHash)
    guard fits, let found, found.closedAt == nil else {
      metrics.update { $0.refusedSignIns += 1 }
      logger.info("Sign-in refused")
      throw Problem.wrongCredentials
    }
    return found
  }

  func newAccount(_ body: SignUpBody) async throws -> @Sendable (UnixTime) async throws -> NewSession {
    // Hash before the address is looked up, so that the response time is the same either way.
    let hash = try await passwords.hash(body.password)
    return { [registry] now in
      try await registry.signUp(
        email: body.email, username: body.username, passwordHash: hash, device: body.device, now: now)
    }
  }
}
#endif
