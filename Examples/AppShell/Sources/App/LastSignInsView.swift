import Handstamp
import HandstampUI
import SwiftUI

/// The last sign-ins on this device, also those that failed, from the audit log.
struct LastSignInsView: View {
  let log: FileAuditLog
  @Environment(Session.self) private var session
  @State private var signIns: [AuditRecord] = []
  @State private var isIntact = true
  @State private var export: String?
  @State private var problem: String?

  var body: some View {
    List {
      if !isIntact { Text(verbatim: "The log was changed. Rely only on what is not marked.") }
      if let problem { Text(verbatim: problem) }
      ForEach(signIns, id: \.sequence) { record in row(record) }
      if let export { ShareLink(item: export) }
    }
    .navigationTitle(Text(verbatim: "Last Sign-Ins"))
    .task { await load() }
  }

  private func row(_ record: AuditRecord) -> some View {
    VStack(alignment: .leading) {
      Text(verbatim: words(record))
      Text(record.entry.at.date, style: .relative).foregroundStyle(.secondary)
    }
  }

  private func words(_ record: AuditRecord) -> String {
    let entry = record.entry
    var words = entry.account?.rawValue ?? entry.address ?? "Unknown"
    if case .signIn(let method) = entry.action { words += ", \(method.rawValue)" }
    if entry.outcome != "ok" { words += ": \(entry.outcome)" }
    return record.isIntact ? words : words + " (?)"
  }

  private func load() async {
    await session.controller.flushAuditLog()
    do {
      signIns = try await log.entries().reversed().filter {
        if case .signIn = $0.entry.action { true } else { false }
      }
      isIntact = try await log.verify().isIntact
      export = try await log.export()
      problem = nil
    } catch {
      problem = Wording(error)?.text
    }
  }
}
