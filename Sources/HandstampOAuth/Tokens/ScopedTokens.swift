public import HandstampCore

/// Access tokens for several APIs from the one refresh token of a session (RFC 6749 section 6, RFC 8707 section 2.2).
///
/// Each is asked for under the session's own flight lock, with the newest refresh token, and a successor is stored before
/// the token is handed out: the session's own refreshes, and those of other processes, never meet a used token. A request
/// that was sent is finished and its successor stored, also when the caller is cancelled; but an exit of the program does not
/// wait for it. Tokens for other APIs are kept in
/// memory alone, and none is handed out once the session has ended.
public actor ScopedTokens {
  private struct Aim: Hashable {
    var scopes: [String]
    var resource: String?
  }

  private struct Held {
    var session: SessionID
    var token: AccessToken
    var lifetime: Lifetime?
  }

  private let backend: OAuthBackend
  private let vault: any Vault
  private let clock: any SessionClock
  private var held: [Aim: Held] = [:]

  /// - Parameters:
  ///   - vault: the session's, the same that its controller has.
  ///   - clock: the same that its controller has.
  public init(backend: OAuthBackend, vault: any Vault, clock: any SessionClock) {
    self.backend = backend
    self.vault = vault
    self.clock = clock
  }

  /// A token for these scopes, or for this API, that lasts at least `minimumValidity`.
  ///
  /// - Throws: ``HandstampCore/SessionError/refused(code:detail:)`` with `invalid_scope` or `invalid_target` where the server
  ///   does not give it, or gives less; ``HandstampCore/SessionError/signedOut(_:)``;
  ///   ``HandstampCore/SessionError/unreachable(retryAfter:)`` also when another process refreshes for too long. A rejection is
  ///   thrown as well, and ends nothing: the session's own refresh decides about its end.
  public func token(
    scopes: [String], resource: String? = nil, minimumValidity: Duration = .seconds(30)
  ) async throws(SessionError) -> AccessToken {
    let aim = Aim(scopes: scopes.sorted(), resource: resource)
    if let token = try await known(aim, for: minimumValidity) { return token }
    let asking = Task.detached(priority: .userInitiated) { await self.ask(aim, for: minimumValidity) }
    guard let result = await asking.valueUnlessCancelled() else { throw .cancelled }
    return try result.get()
  }

  /// Apart from the caller, who may go.
  private func ask(_ aim: Aim, for validity: Duration) async -> Result<AccessToken, SessionError> {
    guard let lock = await vault.lock(within: .seconds(5)) else {
      return .failure(.unreachable(retryAfter: .seconds(1)))
    }
    do throws(SessionError) {
      // Another task of this program may have been faster.
      if let token = try await known(aim, for: validity) {
        lock.unlock()
        return .success(token)
      }
      let session = try await session()
      guard let token = session.refresh else { throw .noRefreshToken }
      let start = clock.now()
      let answer = try await backend.refreshed(token, scopes: aim.scopes, resource: aim.resource)
      try await store(answer, of: session, sent: token, under: lock)
      if let granted = answer.scope?.split(separator: " "), !aim.scopes.allSatisfy({ granted.contains(Substring($0)) })
      {
        return .failure(.refused(code: "invalid_scope", detail: "the server grants less than was asked for"))
      }
      held[aim] = Held(
        session: session.id, token: answer.tokens.access,
        lifetime: answer.tokens.life.map { Lifetime(start: start, duration: $0) })
      return .success(answer.tokens.access)
    } catch {
      if error != .storage(unsaved) { lock.unlock() }
      return .failure(error)
    }
  }

  private func known(_ aim: Aim, for validity: Duration) async throws(SessionError) -> AccessToken? {
    let session = try await session()
    held = held.filter { $0.value.session == session.id }
    guard let known = held[aim] else { return nil }
    guard let lifetime = known.lifetime else { return known.token }
    return lifetime.remaining(at: clock.now()) > validity ? known.token : nil
  }

  /// The session as the vault has it now.
  private func session() async throws(SessionError) -> StoredSession {
    switch await vault.read() {
    case .value(let entry):
      guard let session = entry.session else { throw .signedOut(entry.tombstones.last?.reason) }
      return session
    case .absent: throw .signedOut(nil)
    case .accessOnly: throw .storage(.locked)
    case .trouble(let trouble): throw .storage(trouble)
    }
  }

  /// Stores the successor, if there is one, and gives the lock back. The session's own access token stays what it is.
  ///
  /// While the successor cannot be stored, the lock is kept: any other process would send a token that the server has replaced.
  private func store(
    _ answer: TokenAnswer, of session: StoredSession, sent: RefreshToken, under lock: any FlightLock
  ) async throws(SessionError) {
    guard let successor = answer.tokens.refresh, successor != sent else { return lock.unlock() }
    // A session without a token of its own gets one that is over.
    let access =
      session.access
      ?? StoredAccess(token: answer.tokens.access, lifetime: Lifetime(start: clock.now(), duration: .zero))
    let edit = VaultEdit.advance(session.id, sent: sent, to: successor, access: access, profile: nil)
    switch await vault.edit(edit) {
    case .done: return lock.unlock()
    // It moved under us without the lock: signed out, or another sign-in. Nothing of this answer may be used.
    case .conflict(let entry): throw .signedOut(entry.tombstones.last?.reason)
    case .failed: break
    }
    Task.detached(priority: .utility) { [vault, clock] in
      while case .failed = await vault.edit(edit) { try? await clock.sleep(for: .seconds(1)) }
      lock.unlock()
    }
    throw .storage(unsaved)
  }
}

/// The server has replaced the refresh token, and the new one is in memory alone until the vault can be written.
private let unsaved = VaultTrouble.unavailable(
  "the new refresh token is in memory alone until the vault can be written")

extension Task where Failure == Never {
  /// The value; `nil` as soon as the waiting task is cancelled. This task goes on.
  fileprivate func valueUnlessCancelled() async -> Success? {
    let (values, continuation) = AsyncStream.makeStream(of: Success.self)
    Task<Void, Never>.detached {
      continuation.yield(await self.value)
      continuation.finish()
    }
    for await value in values { return value }
    return nil
  }
}
