#if Programs
import HandstampCore
import HandstampVaults

/// The audit log as a program writes it that runs for a moment: that it looked at its session is no event, what it did is.
struct CommandLog: AuditLog {
  let base: FileAuditLog

  @concurrent func record(_ entry: AuditEntry) async {
    switch entry.action {
    case .restore, .adopt: return
    default: await base.record(entry)
    }
  }

  var head: AuditHead? { base.head }
  func found(_ stored: AuditHead) { base.found(stored) }
}
#endif
