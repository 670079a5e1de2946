#if Server
public import HandstampCore
public import HandstampRegistry

extension SessionServer {
  /// Ends the sessions of an account whose password has changed in the app's ``AccountDirectory``, and refuses sign-ins with
  /// the former password that are in flight.
  ///
  /// - Parameter kept: a session that stays, such as the one that changed the password.
  /// - Returns: how many sessions ended.
  @discardableResult
  public func credentialsChanged(
    of account: AccountID, keeping kept: SessionID? = nil
  ) async throws(RegistryError) -> Int {
    let ended = try await registry.credentialsChanged(of: account, keeping: kept, now: clock.now)
    recorder.announceChange(account)
    return recorder.recordEnd(ended, logger: configuration.logger)
  }

  /// Ends the sessions of an account that was deleted from the app's ``AccountDirectory``. Its ID cannot sign in again.
  ///
  /// - Returns: how many sessions ended.
  @discardableResult
  public func accountDeleted(_ account: AccountID) async throws(RegistryError) -> Int {
    for _ in 0..<Registry.attempts {
      guard let record = try await registry.account(account) else { return 0 }
      do throws(RegistryError) {
        let ended = try await registry.deleteAccount(record, now: clock.now)
        recorder.announceChange(account)
        return recorder.recordEnd(ended, logger: configuration.logger)
      } catch {
        guard error == .accountChanged else { throw error }
      }
    }
    throw Registry.contention
  }

  /// Returns the clients that are configured no more and have live sessions in a store, with how many.
  package func missingClients(in registry: Registry) async throws(RegistryError) -> [String: Int] {
    try await registry.clientSessions().filter { !clients.knows($0.key) }
  }

  /// Returns the operations of administrators on this server. Its event streams report the changes at once.
  ///
  /// - Parameter actor: who is named in the audit log.
  public func administration(by actor: AuditActor) -> Administration {
    var known = configuration
    known.mail.link = known.mail.link ?? MailSettings.ownLink(at: known.issuer)
    return Administration(
      registry.acting(as: actor), configuration: known, passwords: passwords, hasDirectory: directory != nil,
      hasMailer: mailer != nil, sendsWebhooks: configuration.webhookNetwork != nil, now: { [clock] in clock.now },
      announce: { [recorder, configuration] account, ended in
        recorder.announceChange(account)
        recorder.recordEnd(ended, logger: configuration.logger)
      }, knows: { [clients] in clients.knows($0) })
  }
}
#endif
