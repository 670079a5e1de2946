import HandstampCore

extension SessionController {
  /// Hands `token` out only when somebody was shown to be there.
  ///
  /// The token is fetched first: nobody is asked in vain, and none is handed out that came to its end while somebody was
  /// being asked. But a vault that is locked may be just what the answer opens.
  nonisolated func guarded(
    by lock: PresenceLock, _ token: () async throws(SessionError) -> AccessToken
  ) async throws(SessionError) -> AccessToken {
    var pass = lock.pass
    while true {
      do throws(SessionError) {
        let token = try await token()
        if let pass, lock.accepts(pass) { return token }
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
      case .failure(.cancelled): "cancelled"
      }
    var entry = AuditEntry(action: .presence, session: nil, account: nil, at: clock.now().wall, outcome: outcome)
    if case .signedIn(let facts) = state { (entry.session, entry.account) = (facts.session, facts.profile.id) }
    record(entry)
  }
}

extension PresenceLock {
  /// A pass for a call that comes now; nothing while closed.
  var pass: PresenceGate.Pass? { content.withLock { [clock] in $0.gate.pass(at: clock.uptime()) } }

  /// Whether what was fetched under that pass may be handed out: not after the lock was closed.
  func accepts(_ pass: PresenceGate.Pass) -> Bool { content.withLock { $0.gate.accepts(pass) } }
}
