import HandstampCore

/// A vault linked to an audit log: every edit records the log's progress, and the vault's stored progress is passed to the log,
/// which can detect by it that records were cut off.
struct AuditedVault: Vault {
  private let vault: any Vault
  private let audit: any AuditLog

  init(_ vault: any Vault, _ audit: any AuditLog) {
    self.vault = vault
    self.audit = audit
  }

  @concurrent func read() async -> VaultReading {
    let reading = await vault.read()
    if case .value(let entry) = reading { tell(entry) }
    return reading
  }

  @concurrent func edit(_ edit: VaultEdit) async -> VaultOutcome {
    let outcome = await vault.edit(audit.head.map { .noting($0, edit) } ?? edit)
    switch outcome {
    case .done(let entry), .conflict(let entry): tell(entry)
    case .failed: break
    }
    return outcome
  }

  private func tell(_ entry: VaultEntry) {
    if let head = entry.auditHead { audit.found(head) }
  }

  @concurrent func lock(within limit: Duration) async throws(VaultError) -> any VaultLock {
    try await vault.lock(within: limit)
  }

  @concurrent func lockSignIn(within limit: Duration) async throws(VaultError) -> any VaultLock {
    try await vault.lockSignIn(within: limit)
  }

  func changes() -> AsyncStream<Void> { vault.changes() }
}
