#if Server
public import HandstampCore
public import HandstampRegistry

extension Administration {
  /// Returns an account's live sessions, most recently seen first.
  public func sessions(of id: AccountID) async throws(AdministrationError) -> [SessionRow] {
    _ = try await account(id)
    return try await ask(try await registry.sessions(of: id, now: now()))
  }

  /// Returns the addresses that an account's sessions began from, as far as the audit log has them.
  package func addresses(ofSessionsOf id: AccountID) async throws(AdministrationError) -> [SessionID: String] {
    try await ask(try await registry.addresses(ofSessionsOf: id))
  }

  /// Returns the ended sessions that a client was not told of yet (OpenID Connect Back-Channel Logout 1.0), the oldest first.
  public func waitingLogouts(of client: String) async throws(AdministrationError) -> [WaitingLogout] {
    try await ask(try await registry.waitingLogouts(of: client, now: now()))
  }

  /// Ends one session. One that has already ended is not an error.
  ///
  /// - Parameter account: the account that it must belong to; `nil` ends a live session of any.
  /// - Returns: whether the session was live.
  @discardableResult
  public func endSession(_ id: SessionID, of account: AccountID? = nil) async throws(AdministrationError) -> Bool {
    let time = now()
    let owner: AccountID
    if let account {
      owner = account
    } else {
      guard let row = try await ask(try await registry.session(id, now: time)) else { throw .sessionNotFound }
      owner = row.account
    }
    do throws(RegistryError) {
      let ended = try await registry.end(id, of: owner, isAudited: true, now: time)
      announce(owner, ended)
      return !ended.isEmpty
    } catch {
      guard error == .notFound else { throw AdministrationError(error) }
      throw .sessionNotFound
    }
  }

  /// Ends all sessions of an account. Its owner may sign in again.
  ///
  /// - Returns: how many sessions ended.
  @discardableResult
  public func endSessions(of id: AccountID) async throws(AdministrationError) -> Int {
    _ = try await account(id)
    return try await endAll(of: id)
  }

  /// Ends all sessions of all accounts, account by account: if it fails, those of some have ended, and it can be called again.
  ///
  /// - Returns: how many sessions ended.
  @discardableResult
  public func endEverySession() async throws(AdministrationError) -> Int {
    var (count, last) = (0, AccountID?.none)
    while case let page = try await accounts(after: last, limit: Administration.mostRows), let end = page.last {
      // Deleted and disabled accounts have no sessions.
      for record in page where record.state == .active { count += try await endAll(of: record.id) }
      last = end.id
    }
    return count
  }

  private func endAll(of id: AccountID) async throws(AdministrationError) -> Int {
    let ended = try await ask(try await registry.endAll(of: id, now: now()))
    announce(id, ended)
    return ended.count
  }
}
#endif
