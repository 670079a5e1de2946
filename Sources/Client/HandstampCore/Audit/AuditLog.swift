/// Records the events of a session and their outcomes. Entries come in order, one at a time.
public protocol AuditLog: Sendable {
  /// Returns when the entry is as durable as this log makes it. A log that cannot write keeps its entries, and never stops a
  /// session.
  @concurrent func record(_ entry: AuditEntry) async

  /// The newest durable entry; the vault's next edit stores it, so that a truncation before it is detected. A vault that knew an entry
  /// that is not durable would report a cut after a power failure. Read often, from any thread.
  var head: AuditHead? { get }

  /// Reports the head that a vault has stored: a log that ends before it was truncated.
  func found(_ stored: AuditHead)
}

extension AuditLog {
  /// A log without a chain.
  public var head: AuditHead? { nil }
  public func found(_ stored: AuditHead) {}
}
