package import HandstampCore

extension SessionController {
  /// Returns when everything that has happened until now is in the audit log. For programs that are about to exit.
  public func auditWritten() async {
    if audit == nil { return }
    await withCheckedContinuation { continuation in
      guard case .enqueued = auditQueue.yield(.mark(continuation)) else { return continuation.resume() }
    }
  }

  /// Takes down what happened beside the session, such as a clean-up or a switch of accounts, in its order.
  package nonisolated func record(_ entry: AuditEntry) {
    if audit != nil { auditQueue.yield(.entry(entry)) }
  }
}

/// One item of the audit log's queue: first in, first out, one at a time.
enum AuditWork: Sendable {
  case entry(AuditEntry)
  /// Somebody waits until all before is written.
  case mark(CheckedContinuation<Void, Never>)

  func done(on audit: any AuditLog) async {
    switch self {
    case .entry(let entry): await audit.record(entry)
    case .mark(let continuation): continuation.resume()
    }
  }
}
