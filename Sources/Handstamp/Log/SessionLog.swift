import HandstampCore
import Logging

/// Writes one line for every decision of a session: why a refresh began, its result, how long the session waits, and why it
/// ended. Messages are constant; metadata holds IDs, codes and durations, never a secret and never the server's own messages.
struct SessionLog: Sendable {
  let logger: Logger

  func note(_ event: SessionMachine.Event) {
    switch event {
    case .answered(_, let result, _): note(result)
    case .lockFailed(_, _, let error): write(.warning, "refresh lock not acquired", ["cause": error.code])
    case .read(_, .trouble(let error)): write(.warning, "vault not readable", ["cause": error.code])
    case .edited(_, .failed(let error), _): write(.warning, "vault not writable", ["cause": error.code])
    case .revoked(let session, let result, _):
      var values = ["session": session.rawValue]
      switch result {
      case .ended: write(.info, "revocation delivered", values)
      case .refused:
        values["cause"] = result.refusalCode
        write(.warning, "revocation refused", values)
      case .noDecision: write(.warning, "revocation undecided", values)
      }
    case .ended(let session, let reason):
      write(.info, "end reported by the server", ["session": session.rawValue, "reason": reason.rawValue])
    default: break
    }
  }

  private func note(_ result: RefreshResult) {
    switch result {
    case .granted: write(.debug, "refresh granted")
    case .rejected(let reason): write(.notice, "refresh rejected", ["reason": reason.rawValue])
    case .superseded: write(.warning, "refresh superseded")
    case .noDecision(let cause, let retryAfter):
      var values = ["cause": cause.code]
      if case .server(let response) = cause { values["status"] = "\(response.status)" }
      if case .configuration(let response) = cause { values["status"] = "\(response.status)" }
      if let retryAfter { values["retry_after"] = "\(retryAfter)" }
      write(.warning, "refresh undecided", values)
    }
  }

  func note(_ effect: SessionMachine.Effect, attempt: Int) {
    switch effect {
    case .askRefresh: write(.info, "refresh begun", ["attempt": "\(attempt)"])
    case .startTimer(.retry, _, let wait): write(.info, "refresh delayed", ["wait": "\(wait)"])
    case .startTimer(.deliver, _, let wait): write(.info, "revocation delayed", ["wait": "\(wait)"])
    case .startTimer(.save, _, let wait), .startTimer(.renew, _, let wait), .startTimer(.bury, _, let wait):
      write(.info, "storing delayed", ["wait": "\(wait)"])
    case .audit(let entry): note(entry)
    case .adopted(let session):
      write(.info, "tokens adopted from another process", ["session": session.rawValue])
    case .publish(.unavailable(let error)): write(.warning, "session unavailable", ["cause": error.code])
    default: break
    }
  }

  private func note(_ entry: AuditEntry) {
    var values = ["outcome": entry.outcome]
    if let session = entry.session { values["session"] = session.rawValue }
    switch entry.action {
    case .signIn: write(.info, "sign-in", values)
    case .restore: write(.info, "session restored", values)
    case .refresh: write(entry.outcome == "ok" ? .info : .warning, "refresh ended", values)
    case .adopt: write(.info, "session of another process adopted", values)
    case .end: write(.notice, "session ended", values)
    case .trouble: write(.warning, "session not usable", values)
    default: break
    }
  }

  private func write(
    _ level: Logger.Level, _ message: Logger.Message, _ values: @autoclosure () -> [String: String] = [:]
  ) {
    guard level >= logger.logLevel else { return }
    logger.log(
      level: level, message,
      metadata: Dictionary(uniqueKeysWithValues: values().map { ("handstamp_\($0)", .string($1)) }))
  }
}
