#if Command
import HandstampCore
import HandstampVaults

/// The audit log of a short-lived program, which does not record that it merely read its session.
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
