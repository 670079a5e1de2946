public import HandstampCore
import HandstampSupport

/// A vault in memory, for tests, previews and sessions that must not outlive their process.
///
/// Share it between controllers to simulate processes that share one store: edits are applied one at a time, there is
/// one refresh lock, and every write signals all listeners. The contents are lost with the last reference.
public final class MemoryVault: Vault {
  private let entry: Locked<VaultEntry>
  private let listeners = ChangeListeners()
  private let flight: MemoryFlight
  private let signIns: MemoryFlight

  /// Creates a vault that holds `entry`. `clock` measures the wait in ``lock(within:)``; tests may pass their own.
  public init(_ entry: VaultEntry = VaultEntry(), clock: any Clock<Duration> = ContinuousClock()) {
    self.entry = Locked(entry)
    flight = MemoryFlight(clock: clock)
    signIns = MemoryFlight(clock: clock)
  }

  @concurrent public func read() async -> VaultReading {
    let entry = entry.withLock { $0 }
    return entry.isEmpty ? .absent : .value(entry)
  }

  /// Applies the edit. Never fails. "Durable" here means for the lifetime of this object.
  @concurrent public func edit(_ edit: VaultEdit) async -> VaultOutcome {
    let (outcome, wrote) = entry.withLock { entry -> (VaultOutcome, Bool) in
      switch edit.applied(to: entry) {
      case .write(let new):
        entry = new
        return (.done(new), true)
      case .unchanged: return (.done(entry), false)
      case .conflict: return (.conflict(entry), false)
      }
    }
    if wrote { listeners.signal() }
    return outcome
  }

  /// Takes the lock in order of arrival. It is released if its handle is deallocated.
  @concurrent public func lock(within limit: Duration) async throws(VaultError) -> any VaultLock {
    guard let lock = await flight.lock(within: limit) else {
      throw .unavailable("the refresh lock is held by another task of this program")
    }
    return lock
  }

  @concurrent public func lockSignIn(within limit: Duration) async throws(VaultError) -> any VaultLock {
    guard let lock = await signIns.lock(within: limit) else {
      throw .unavailable("the sign-in lock is held by another task of this program")
    }
    return lock
  }

  /// Yields after every write, including this process's own.
  public func changes() -> AsyncStream<Void> { listeners.stream() }

  /// Restores an earlier entry regardless of the current one, as a restored backup or a power cut that lost writes
  /// would.
  package func restore(_ earlier: VaultEntry) {
    entry.withLock { $0 = earlier }
    listeners.signal()
  }
}
