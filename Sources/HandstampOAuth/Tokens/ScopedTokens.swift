public import HandstampCore

/// Access tokens for several APIs from the one refresh token of a session (RFC 6749 section 6, RFC 8707 section 2.2).
///
/// Each is asked for under the session's own flight lock, with the newest refresh token, and a successor is stored before
/// the token is handed out: the session's own refreshes, and those of other processes, never meet a used token. Tokens for
/// other APIs are kept in memory alone, and none is handed out once the session has ended.
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
    guard let lock = await vault.lock(within: .seconds(5)) else { throw .unreachable(retryAfter: .seconds(1)) }
    defer { lock.unlock() }
    // Another task of this program may have been faster.
    if let token = try await known(aim, for: minimumValidity) { return token }
    return try await fetch(aim)
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

  private func fetch(_ aim: Aim) async throws(SessionError) -> AccessToken {
    let session = try await session()
    guard let token = session.refresh else { throw .noRefreshToken }
    let start = clock.now()
    let answer = try await backend.refreshed(token, scopes: aim.scopes, resource: aim.resource)
    if let granted = answer.scope?.split(separator: " "), !aim.scopes.allSatisfy({ granted.contains(Substring($0)) }) {
      // The successor counts all the same.
      try await store(answer, of: session, sent: token)
      throw .refused(code: "invalid_scope", detail: "the server grants less than was asked for")
    }
    try await store(answer, of: session, sent: token)
    let new = Held(
      session: session.id, token: answer.tokens.access,
      lifetime: answer.tokens.life.map { Lifetime(start: start, duration: $0) })
    held[aim] = new
    return new.token
  }

  /// Stores the successor, if there is one. The session's own access token stays what it is.
  private func store(
    _ answer: TokenAnswer, of session: StoredSession, sent: RefreshToken
  ) async throws(SessionError) {
    guard let successor = answer.tokens.refresh, successor != sent else { return }
    // A session without a token of its own gets one that is over.
    let access =
      session.access
      ?? StoredAccess(token: answer.tokens.access, lifetime: Lifetime(start: clock.now(), duration: .zero))
    let edit = VaultEdit.advance(session.id, sent: sent, to: successor, access: access, profile: nil)
    for _ in 0..<3 {
      switch await vault.edit(edit) {
      case .done: return
      // It moved under us without the lock: signed out, or another sign-in. Nothing of this answer may be used.
      case .conflict(let entry): throw .signedOut(entry.tombstones.last?.reason)
      case .failed: continue
      }
    }
    // The old token was used up and the new one cannot be kept; the one in the air is served by nobody.
    throw .storage(.unavailable("the successor of a refresh token could not be stored"))
  }
}
