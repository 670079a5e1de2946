public import HandstampCore

/// A browser that somebody signed in with on the server's own pages. It leads to no token by itself.
public struct WebSessionLimits: Sendable, Hashable {
  /// How long it lasts, used or not.
  public static let life = Duration.seconds(3600)
}

extension Registry {
  /// A new one. Its secret was never anybody's before.
  public func beginWebSession(of account: AccountRecord, now: UnixTime) async throws(RegistryError) -> LinkSecret {
    try await issue(
      .webSession, subject: account.id.rawValue, account: account.id, payload: String(account.revision),
      lasting: WebSessionLimits.life, now: now)
  }

  /// Whose it is. Nothing for what is none, was ended or is over, and once the account has changed, as by a new password.
  public func account(webSession presented: Secret, now: UnixTime) async throws(RegistryError) -> AccountRecord? {
    guard let secret = LinkSecret(presented: presented)?.secret,
      let ticket = try await liveTicket(TicketID(of: secret, purpose: .webSession), now: now), let id = ticket.account,
      let account = try await account(id), account.closedAt == nil, String(account.revision) == ticket.payload
    else { return nil }
    return account
  }

  /// Ends one. Whatever is none changes nothing.
  public func endWebSession(_ presented: Secret) async throws(RegistryError) {
    guard let secret = LinkSecret(presented: presented)?.secret else { return }
    do throws(RegistryStoreError) {
      _ = try await store.write([.useTicket(TicketID(of: secret, purpose: .webSession))], events: [])
    } catch {
      guard error == .missing else { throw RegistryError(error) }
    }
  }
}
