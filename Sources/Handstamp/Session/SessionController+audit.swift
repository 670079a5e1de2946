package import HandstampCore

extension SessionController {
  /// Returns when all events so far are in the audit log. For programs that are about to exit.
  public func flushAuditLog() async {
    if audit == nil { return }
    await withCheckedContinuation { continuation in
      guard case .enqueued = auditQueue.yield(.mark(continuation)) else { return continuation.resume() }
    }
  }

  /// Records an event outside the session's rules, such as a clean-up or a switch of accounts, in order.
  package nonisolated func record(_ entry: AuditEntry) {
    if audit != nil { auditQueue.yield(.entry(entry)) }
  }
}

/// One item of the audit log's queue: first in, first out, one at a time.
enum AuditWork: Sendable {
  case entry(AuditEntry)
  /// A caller waits until all earlier entries are written.
  case mark(CheckedContinuation<Void, Never>)

  func done(on audit: any AuditLog) async {
    switch self {
    case .entry(let entry): await audit.record(entry)
    case .mark(let continuation): continuation.resume()
    }
  }
}
