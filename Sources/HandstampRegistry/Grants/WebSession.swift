public import HandstampCore

/// Limits of web sessions: browsers signed in on the server's own pages. A web session alone gives access to no token.
public struct WebSessionLimits: Sendable, Hashable {
  /// Lifetime of a web session, used or not.
  public static let life = Duration.seconds(3600)
}

extension Registry {
  /// Starts a web session with a fresh secret.
  public func beginWebSession(of account: AccountRecord, now: UnixTime) async throws(RegistryError) -> OneTimeToken {
    try await issue(
      .webSession, subject: account.id.rawValue, account: account.id, payload: String(account.revision),
      lasting: WebSessionLimits.life, now: now)
  }

  /// Returns the account of a live web session, or `nil` if the session is unknown, ended or expired, or if the account has
  /// changed since, for example by a new password.
  public func account(webSession presented: Secret, now: UnixTime) async throws(RegistryError) -> AccountRecord? {
    guard let secret = OneTimeToken(presented: presented)?.secret,
      let record = try await liveOneTimeToken(OneTimeTokenID(of: secret, purpose: .webSession), now: now),
      let id = record.account,
      let account = try await account(id), account.closedAt == nil, String(account.revision) == record.payload
    else { return nil }
    return account
  }

  /// Ends a web session. An unknown or invalid secret changes nothing.
  public func endWebSession(_ presented: Secret) async throws(RegistryError) {
    guard let secret = OneTimeToken(presented: presented)?.secret else { return }
    do throws(RegistryStoreError) {
      _ = try await store.write([.redeemOneTimeToken(OneTimeTokenID(of: secret, purpose: .webSession))], events: [])
    } catch {
      guard error == .notFound else { throw RegistryError(error) }
    }
  }
}
