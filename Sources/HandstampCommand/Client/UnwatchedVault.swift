#if Programs
import HandstampCore
import HandstampVaults

/// A vault whose changes nobody watches: a program that runs for a moment reads it when it needs to, and saves the
/// milliseconds that the end of a watch costs.
struct UnwatchedVault: Vault {
  let base: SealedFileVault

  @concurrent func read() async -> VaultReading { await base.read() }
  @concurrent func edit(_ edit: VaultEdit) async -> VaultOutcome { await base.edit(edit) }
  @concurrent func lock(within limit: Duration) async throws(VaultTrouble) -> any FlightLock {
    try await base.lock(within: limit)
  }
  @concurrent func lockSignIn(within limit: Duration) async throws(VaultTrouble) -> any FlightLock {
    try await base.lockSignIn(within: limit)
  }
}
#endif
