/// The result of an edit.
package enum VaultOutcome: Sendable, Hashable {
  /// The edit is durable; the new entry.
  case done(VaultEntry)
  /// The edit's condition was not met, and nothing was written; the stored entry.
  case conflict(VaultEntry)
  /// The edit was not written, or may be lost in a power cut.
  case failed(VaultError)

  /// Returns the same outcome with a new value for its entry, if it has one.
  package func mapEntry<Failure: Error>(
    _ transform: (VaultEntry) async throws(Failure) -> VaultEntry
  ) async throws(Failure) -> VaultOutcome {
    switch self {
    case .done(let entry): .done(try await transform(entry))
    case .conflict(let entry): .conflict(try await transform(entry))
    case .failed: self
    }
  }
}

extension Vault {
  /// Returns the stored entry. One without content is absent.
  ///
  /// - Parameter audit: is told its progress as far as the entry knows it, and detects by it that records were cut off.
  @concurrent package func read(noting audit: (any AuditLog)? = nil) async -> VaultReading {
    let reading = await load()
    guard case .value(let entry) = reading else { return reading }
    if entry.isEmpty { return .absent }
    if let head = entry.auditHead { audit?.found(head) }
    return reading
  }

  /// Applies `edit` to the stored entry, in one atomic and durable step: again, if another process was faster.
  ///
  /// - Parameter audit: its progress is stored with what the edit writes, and never goes back. It is told as by ``read(noting:)``.
  @concurrent package func edit(_ edit: VaultEdit, noting audit: (any AuditLog)? = nil) async -> VaultOutcome {
    do throws(VaultError) {
      var entry = try await load().entry(for: edit.write)
      for _ in 0..<VaultEdit.patience {
        if let head = entry.auditHead { audit?.found(head) }
        var new = entry
        switch edit.applied(to: entry) {
        case .conflict: return .conflict(entry)
        case .unchanged: break
        case .write(let written):
          new = written
          if let head = audit?.head, head.sequence > entry.auditHead?.sequence ?? 0 { new.auditHead = head }
        }
        switch try await replace(entry.revision, with: new, as: edit.write) {
        case .done:
          if let head = new.auditHead { audit?.found(head) }
          return .done(new)
        case .lost(let found?): entry = found
        case .lost(nil): entry = try await load().entry(for: edit.write)
        }
      }
      throw .unavailable("other programs write to the vault all the time")
    } catch {
      return .failed(error)
    }
  }
}

extension VaultReading {
  /// Returns the entry that a write replaces: an empty one for none, and for corrupt content that it may replace.
  package func entry(for write: VaultWrite) throws(VaultError) -> VaultEntry {
    switch self {
    case .value(let entry): return entry
    case .absent: return VaultEntry()
    case .accessOnly: throw .locked
    case .trouble(.corrupt) where write.replacesCorruptContent: return VaultEntry()
    case .trouble(let trouble): throw trouble
    }
  }
}
