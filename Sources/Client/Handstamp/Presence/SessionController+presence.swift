import HandstampCore
import HandstampSupport

extension SessionController {
  /// Returns an access token, as ``guarded(_:)`` does. Cookies are refused before the user is asked.
  nonisolated func guardedToken(_ need: SessionMachine.Need) async throws(SessionError) -> AccessToken {
    try await guarded { () async throws(SessionError) in
      guard let token = try await unguarded(need).token else {
        throw .unsupported("an access token (the session uses cookies)")
      }
      return token
    }
  }

  /// Returns a secret; with a ``PresenceLock``, only after the user has confirmed their presence.
  ///
  /// It is fetched first: the user is not asked in vain, and a token that expires while the user is being asked is not
  /// returned. A locked vault is no obstacle, because the confirmation may be the very thing that unlocks it.
  nonisolated func guarded<Found>(_ find: () async throws(SessionError) -> Found) async throws(SessionError) -> Found {
    guard let lock = presence else { return try await find() }
    var pass = lock.pass
    while true {
      do throws(SessionError) {
        let found = try await find()
        if let pass, lock.accepts(pass) { return found }
      } catch {
        guard error == .storage(.locked), pass == nil else { throw error }
      }
      pass = try await confirm(at: lock)
    }
  }

  private nonisolated func confirm(at lock: PresenceLock) async throws(SessionError) -> PresenceGate.Pass {
    let (answer, isFirst) = await lock.confirm()
    if isFirst { record(presence: answer) }
    do throws(PresenceError) { return try answer.get() } catch {
      if error == .cancelled, Task.isCancelled { throw .cancelled }
      throw .presence(error)
    }
  }

  private nonisolated func record(presence answer: PresenceLock.Answer) {
    let outcome =
      switch answer {
      case .success: "ok"
      case .failure(.declined): "declined"
      case .failure(.unavailable): "unavailable"
      case .failure(.lockedOut): "locked_out"
      case .failure(.noSecret): "no_secret"
      case .failure(.cancelled): "cancelled"
      }
    var entry = AuditEntry(action: .presence, session: nil, account: nil, at: clock.now().wall, outcome: outcome)
    if case .signedIn(let facts) = state { (entry.session, entry.account) = (facts.id, facts.profile?.id) }
    record(entry)
  }
}

extension PresenceLock {
  /// A pass for a call at this moment; `nil` while locked.
  var pass: PresenceGate.Pass? { content.withLock { [clock] in $0.gate.pass(at: clock.uptime()) } }

  /// Whether a token fetched with that pass may be returned: not after the lock was closed.
  func accepts(_ pass: PresenceGate.Pass) -> Bool { content.withLock { $0.gate.accepts(pass) } }
}
