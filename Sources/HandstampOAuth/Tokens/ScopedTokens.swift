import Foundation
public import HandstampCore

/// Access tokens for several APIs from the one refresh token of a session (RFC 6749 section 6, RFC 8707 section 2.2).
///
/// Each is requested under the session's own refresh lock, with the newest refresh token, and a successor is stored before the
/// token is returned: neither the session's own refreshes nor those of other processes ever use a replaced token. A request in
/// flight is completed and its successor stored even if the caller is cancelled, and before a program that holds the session's
/// controller exits. Tokens for other APIs are kept in memory only, and none is returned after the session has ended.
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
  private let responseTimeout: Duration
  private var held: [Aim: Held] = [:]

  /// - Parameters:
  ///   - vault: the session's vault, the same as its controller's.
  ///   - clock: the same as the controller's.
  ///   - responseTimeout: the same as in the controller's ``RefreshPolicy``.
  public init(
    backend: OAuthBackend, vault: any Vault, clock: any SessionClock,
    responseTimeout: Duration = RefreshPolicy().responseTimeout
  ) {
    self.responseTimeout = responseTimeout
    self.backend = backend
    self.vault = vault
    self.clock = clock
  }

  /// Returns a token for these scopes, or for this API, that is valid for at least `minimumValidity`.
  ///
  /// - Throws: ``SessionError/requestFailed(_:retryAfter:)`` with
  ///   ``RequestFailure/configuration(_:)`` and the code `invalid_scope` or `invalid_target` if the server
  ///   refuses, or grants less; ``SessionError/signedOut(_:)``; ``SessionError/storage(_:)`` also
  ///   if another process refreshes for too long. A rejection is thrown as well, but ends nothing: only the session's own
  ///   refresh ends the session.
  public func token(
    scopes: [String], resource: String? = nil, minimumValidity: Duration = .seconds(30)
  ) async throws(SessionError) -> AccessToken {
    let aim = Aim(scopes: scopes.sorted(), resource: resource)
    if let token = try await known(aim, for: minimumValidity) { return token }
    let asking = Task.detached(priority: .userInitiated) { await self.ask(aim, for: minimumValidity) }
    guard let result = await asking.valueUnlessCancelled() else { throw .cancelled }
    return try result.get()
  }

  /// Runs independently of the caller, which may be cancelled.
  private func ask(_ aim: Aim, for validity: Duration) async -> Result<AccessToken, SessionError> {
    while true {
      let lock: any VaultLock
      do throws(VaultError) { lock = try await vault.lock(within: .seconds(5)) } catch {
        return .failure(.storage(error))
      }
      let pause: Duration
      do throws(SessionError) {
        // Another task of this program may have been faster.
        if let token = try await known(aim, for: validity) {
          lock.unlock()
          return .success(token)
        }
        guard let settled = ExitGuard.begin() else {
          lock.unlock()
          return .failure(.cancelled)
        }
        defer { settled() }
        switch try await begin() {
        case .begun(let session, let token, let attempt):
          let (answer, start) = try await refreshed(aim, session, token, attempt)
          try await store(answer, of: session, sent: token, attempt, under: lock)
          return .success(try keep(answer, for: aim, of: session, since: start))
        case .wait(let rest): pause = rest
        }
      } catch {
        if error != .storage(unsaved) { lock.unlock() }
        return .failure(error)
      }
      lock.unlock()
      do { try await clock.sleep(for: pause) } catch { return .failure(.cancelled) }
    }
  }

  private func keep(
    _ answer: TokenAnswer, for aim: Aim, of session: StoredSession, since start: Moment
  ) throws(SessionError) -> AccessToken {
    if let granted = answer.scope?.split(separator: " "), !aim.scopes.allSatisfy({ granted.contains(Substring($0)) }) {
      throw .requestFailed(
        .configuration(.init(status: 200, error: "invalid_scope", detail: "the server grants less than was requested"))
      )
    }
    let token = AccessToken(answer.access_token)
    held[aim] = Held(
      session: session.id, token: token,
      lifetime: answer.tokens.expiresIn.map { Lifetime(start: start, duration: $0) })
    return token
  }

  private enum Beginning {
    case begun(StoredSession, RefreshToken, RefreshAttempt)
    /// The token was presented before, and its limit has not passed.
    case wait(Duration)
  }

  /// Records the attempt in the vault before a byte is sent.
  private func begin() async throws(SessionError) -> Beginning {
    for _ in 0..<8 {
      let session = try await session()
      guard let token = session.refresh else { throw .noRefreshToken }
      let now = clock.now()
      if let found = session.attempt {
        guard let age = found.age(at: now) else {
          _ = await vault.edit(.note(session.id, found, as: found.read(at: now)))
          continue
        }
        if age < responseTimeout { return .wait(responseTimeout - age) }
      }
      let attempt = RefreshAttempt(since: now, process: ProcessInfo.processInfo.processIdentifier)
      var random = SystemRandomNumberGenerator()
      let edit = VaultEdit.prepare(
        session.id, holding: token, key: RotationKey(from: &random), attempt: attempt, over: session.attempt)
      switch await vault.edit(edit) {
      case .done: return .begun(session, token, attempt)
      case .conflict: continue
      case .failed(let trouble): throw .storage(trouble)
      }
    }
    throw .storage(.unavailable("other processes keep changing the vault"))
  }

  /// Returns the server's response, awaited for the limit, measured in time during which the program ran.
  private func refreshed(
    _ aim: Aim, _ session: StoredSession, _ token: RefreshToken, _ attempt: RefreshAttempt
  ) async throws(SessionError) -> (TokenAnswer, Moment) {
    let start = clock.now()
    let asking = Task.detached(priority: .userInitiated) {
      [backend, clock, responseTimeout] () -> Result<TokenAnswer, RefreshProblem> in
      await SendingTime.during(responseTimeout, since: attempt.since, by: clock) {
        do throws(RefreshProblem) {
          return .success(try await backend.refreshed(token, scopes: aim.scopes, resource: aim.resource))
        } catch {
          return .failure(error)
        }
      }
    }
    let limit = Task.detached(priority: .utility) { [clock, responseTimeout] in
      do { try await clock.sleep(whileRunningFor: responseTimeout) } catch { return }
      asking.cancel()
    }
    defer { limit.cancel() }
    switch await asking.value {
    case .success(let answer): return (answer, start)
    case .failure(let problem):
      switch problem.result {
      case .noDecision(.unusableTokens(_, let successor?), _):
        // Without an access token of the session's own there is nothing to store beside it.
        guard let access = session.access else { break }
        _ = await vault.edit(.advance(session.id, sent: token, to: successor, access: access, profile: nil))
      // The request may have reached the server: no process presents the token before the limit has passed.
      case .noDecision(let failure, _) where failure.mayHaveTakenEffect: break
      case .noDecision, .rejected, .superseded, .granted:
        _ = await vault.edit(.note(session.id, attempt, as: nil))
      }
      throw problem.error
    }
  }

  private func known(_ aim: Aim, for validity: Duration) async throws(SessionError) -> AccessToken? {
    let session = try await session()
    held = held.filter { $0.value.session == session.id }
    guard let known = held[aim] else { return nil }
    guard let lifetime = known.lifetime else { return known.token }
    return lifetime.remaining(at: clock.now()) > validity ? known.token : nil
  }

  /// Returns the session as the vault has it now.
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

  /// Stores the successor, if there is one, and releases the lock. The session's own access token does not change.
  ///
  /// While the successor cannot be stored, the lock is kept: any other process would send a token that the server has replaced.
  private func store(
    _ answer: TokenAnswer, of session: StoredSession, sent: RefreshToken, _ attempt: RefreshAttempt,
    under lock: any VaultLock
  ) async throws(SessionError) {
    guard let successor = answer.tokens.refresh, successor != sent else {
      _ = await vault.edit(.note(session.id, attempt, as: nil))
      return lock.unlock()
    }
    // A session without an access token gets one that has expired.
    let access =
      session.access
      ?? StoredAccess(answer.tokens.credential, lifetime: Lifetime(start: clock.now(), duration: .zero))
    let edit = VaultEdit.advance(session.id, sent: sent, to: successor, access: access, profile: nil)
    switch await vault.edit(edit) {
    case .done: return lock.unlock()
    // The vault changed without the lock: a sign-out, or another sign-in. The response must not be used.
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

/// The server has replaced the refresh token, and the new one is only in memory until the vault can be written.
private let unsaved = VaultError.unavailable(
  "the new refresh token is only in memory until the vault can be written")

extension Task where Failure == Never {
  /// The value; `nil` as soon as the waiting task is cancelled. This task continues.
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
