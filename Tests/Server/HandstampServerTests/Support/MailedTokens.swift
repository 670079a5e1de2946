#if Programs
import HandstampCore
import HandstampServer
import HandstampTesting

@testable import HandstampRegistry

extension TestServer {
  /// Returns a token that sets a new password, as the server mails it.
  ///
  /// - Parameter isFirst: whether its address was never confirmed, if it is not. Then the token takes back everything.
  func mailedReset(of account: AccountRecord, isFirst: Bool = false) async throws -> String {
    if !isFirst, let stored = try await server.registry.account(account.id), stored.emailConfirmedAt == nil {
      var confirmed = stored
      confirmed.emailConfirmedAt = stored.createdAt
      try await store.write([.replaceAccount(confirmed, expecting: stored.revision)], events: [])
    }
    let (token, change) = server.registry.resetToken(for: account, now: clock.now)
    return try await stored(token, change)
  }

  /// Returns a token that confirms the address of a new account, as the server mails it.
  func mailedConfirmation(of email: EmailAddress) async throws -> String {
    let (token, change) = server.registry.signUpToken(for: email, "Eve", now: clock.now)
    return try await stored(token, change)
  }

  private func stored(_ token: OneTimeToken, _ change: RegistryChange) async throws -> String {
    try await store.write([change], events: [])
    return token.secret.withExposed { $0 }
  }
}
#endif
