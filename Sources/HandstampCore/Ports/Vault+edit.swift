/// The result of an edit.
package enum VaultOutcome: Sendable, Hashable {
  /// The edit is durable; the new entry.
  case done(VaultEntry)
  /// The edit's condition was not met, and nothing was written; the stored entry.
  case conflict(VaultEntry)
  /// The edit was not written, or may be lost in a power cut.
  case failed(VaultError)
}

extension Vault {
  /// Returns the stored entry. One without content is absent.
  @concurrent package func read() async -> VaultReading {
    let reading = await load()
    if case .value(let entry) = reading, entry.isEmpty { return .absent }
    return reading
  }

  /// Applies `edit` to the stored entry, in one atomic and durable step: again, if another process was faster.
  ///
  /// - Parameter head: the audit log's progress, which is stored with what the edit writes, and never goes back.
  @concurrent package func edit(_ edit: VaultEdit, noting head: AuditHead? = nil) async -> VaultOutcome {
    var known: VaultEntry?
    do throws(VaultError) {
      for _ in 0..<VaultEdit.patience {
        let entry = if let known { known } else { try await stored(for: edit) }
        var new = entry
        switch edit.applied(to: entry) {
        case .conflict: return .conflict(entry)
        case .unchanged: break
        case .write(let written):
          new = written
          if let head, head.sequence > entry.auditHead?.sequence ?? 0 { new.auditHead = head }
        }
        switch try await replace(entry.revision, with: new, as: edit.write) {
        case .done: return .done(new)
        case .lost(let stored): known = stored
        }
      }
      throw .unavailable("other programs write to the vault all the time")
    } catch {
      return .failed(error)
    }
  }

  private func stored(for edit: VaultEdit) async throws(VaultError) -> VaultEntry {
    switch await load() {
    case .value(let entry): return entry
    case .absent: return VaultEntry()
    case .accessOnly: throw .locked
    case .trouble(.corrupt) where edit.write.replacesCorruptContent: return VaultEntry()
    case .trouble(let trouble): throw trouble
    }
  }
}
