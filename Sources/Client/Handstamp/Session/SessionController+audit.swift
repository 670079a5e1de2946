import HandstampCore

extension SessionController {
  /// Returns when all events so far are in the audit log. For programs that are about to exit.
  public func flushAuditLog() async {
    if audit == nil { return }
    await withCheckedContinuation { continuation in
      guard case .enqueued = auditWork.yield({ continuation.resume() }) else { return continuation.resume() }
    }
  }

  /// Records an event outside the session's rules, such as a clean-up or a switch of accounts, in order.
  package nonisolated func record(_ entry: AuditEntry) {
    if let audit { auditWork.yield { await audit.record(entry) } }
  }
}
