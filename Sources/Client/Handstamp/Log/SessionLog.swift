import HandstampCore
import Logging

/// Writes one line for every decision of a session: why a refresh began, its result, how long the session waits, and why it
/// ended. Messages are constant; metadata holds IDs, codes and durations, never a secret and never the server's own messages.
struct SessionLog: Sendable {
  let logger: Logger

  func note(_ event: SessionMachine.Event) {
    switch event {
    case .refreshCompleted(_, let result, _): note(result)
    case .locked(_, _, let error?): write(.warning, "Refresh lock not acquired", ["cause": error.code])
    case .read(_, .trouble(let error)): write(.warning, "Vault not readable", ["cause": error.code])
    case .edited(_, .failed(let error), _): write(.warning, "Vault not writable", ["cause": error.code])
    case .revoked(let session, let result, _):
      var values = ["session": session.rawValue]
      switch result {
      case .ended: write(.info, "Revocation delivered", values)
      case .refused:
        values["cause"] = result.refusalCode
        write(.warning, "Revocation refused", values)
      case .noDecision: write(.warning, "Revocation undecided", values)
      }
    case .ended(let session, let reason):
      write(.info, "End reported by the server", ["session": session.rawValue, "reason": reason.rawValue])
    default: break
    }
  }

  private func note(_ result: RefreshResult) {
    switch result {
    case .granted: write(.debug, "Refresh granted")
    case .rejected(let reason): write(.notice, "Refresh rejected", ["reason": reason.rawValue])
    case .superseded: write(.warning, "Refresh superseded")
    case .noDecision(let cause, let retryAfter):
      var values = ["cause": cause.code]
      if let response = cause.response { values["status"] = "\(response.status)" }
      if let retryAfter { values["retry_after"] = "\(retryAfter)" }
      write(.warning, "Refresh undecided", values)
    }
  }

  func note(_ effect: SessionMachine.Effect, attempt: Int) {
    switch effect {
    case .askRefresh: write(.info, "Refresh begun", ["attempt": "\(attempt)"])
    case .startTimer(.retry, _, let wait): write(.info, "Refresh delayed", ["wait": "\(wait)"])
    case .startTimer(.revoke, _, let wait): write(.info, "Revocation delayed", ["wait": "\(wait)"])
    case .startTimer(.save, _, let wait), .startTimer(.renew, _, let wait), .startTimer(.bury, _, let wait):
      write(.info, "Storing delayed", ["wait": "\(wait)"])
    case .audit(let entry): note(entry)
    case .adopted(let session):
      write(.info, "Tokens adopted from another process", ["session": session.rawValue])
    case .publish(.unavailable(let error)): write(.warning, "Session unavailable", ["cause": error.code])
    default: break
    }
  }

  func note(withoutStep scopes: Set<CleanupScope>) {
    write(.notice, "Nothing to clear these scopes", ["scopes": scopes.map(\.rawValue).sorted().joined(separator: " ")])
  }

  private func note(_ entry: AuditEntry) {
    var values = ["outcome": entry.outcome]
    if let session = entry.session { values["session"] = session.rawValue }
    switch entry.action {
    case .signIn: write(.info, "Sign-in", values)
    case .restore: write(.info, "Session restored", values)
    case .refresh: write(entry.outcome == "ok" ? .info : .warning, "Refresh ended", values)
    case .adopt: write(.info, "Session of another process adopted", values)
    case .end: write(.notice, "Session ended", values)
    case .trouble: write(.warning, "Session not usable", values)
    default: break
    }
  }

  private func write(
    _ level: Logger.Level, _ message: Logger.Message, _ values: @autoclosure () -> [String: String] = [:]
  ) {
    guard level >= logger.logLevel else { return }
    logger.log(
      level: level, message,
      metadata: Dictionary(uniqueKeysWithValues: values().map { ("handstamp.\($0)", .string($1)) }))
  }
}
