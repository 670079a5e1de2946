#if Command
import HandstampCore
import HandstampVaults

/// A vault without change notifications: a short-lived program reads it when needed, and saves the milliseconds that ending a
/// watch costs.
struct UnwatchedVault: Vault {
  let base: SealedFileVault

  @concurrent func read() async -> VaultReading { await base.read() }
  @concurrent func edit(_ edit: VaultEdit) async -> VaultOutcome { await base.edit(edit) }
  @concurrent func lock(within limit: Duration) async throws(VaultError) -> any VaultLock {
    try await base.lock(within: limit)
  }
  @concurrent func lockSignIn(within limit: Duration) async throws(VaultError) -> any VaultLock {
    try await base.lockSignIn(within: limit)
  }
}
#endif
