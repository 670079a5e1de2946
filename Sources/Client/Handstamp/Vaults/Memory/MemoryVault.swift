public import HandstampCore
import HandstampSupport

/// A vault in memory, for tests, previews and sessions that must not outlive their process.
///
/// Share it between controllers to simulate processes that share one store: one write at a time succeeds, there is
/// one refresh lock, and every write signals all listeners. The contents are lost with the last reference.
public final class MemoryVault: Vault {
  private let entry: Locked<VaultEntry>
  private let listeners = ChangeListeners()
  private let locks: [VaultLockKind: MemoryFlight]

  /// Creates a vault that holds `entry`. `clock` measures the wait in ``lock(_:within:)``; tests may pass their own.
  public init(_ entry: VaultEntry = VaultEntry(), clock: any Clock<Duration> = ContinuousClock()) {
    self.entry = Locked(entry)
    locks = Dictionary(uniqueKeysWithValues: VaultLockKind.allCases.map { ($0, MemoryFlight(clock: clock)) })
  }

  @concurrent public func load() async -> VaultReading { .value(entry.withLock { $0 }) }

  /// Replaces the entry. Never fails. "Durable" here means for the lifetime of this object.
  @concurrent public func replace(
    _ revision: UInt64, with new: VaultEntry, as write: VaultWrite
  ) async throws(VaultError) -> VaultReplacement {
    let found = entry.withLock { entry in
      defer { if entry.revision == revision { entry = new } }
      return entry
    }
    guard found.revision == revision else { return .lost(found) }
    if new.revision != revision { listeners.signal() }
    return .done
  }

  /// Takes the lock in order of arrival. It is released if its handle is deallocated.
  @concurrent public func lock(
    _ kind: VaultLockKind, within limit: Duration
  ) async throws(VaultError) -> any VaultLock {
    guard let lock = await locks[kind]?.lock(within: limit) else {
      throw .unavailable("the \(kind.rawValue) lock is held by another task of this program")
    }
    return lock
  }

  /// Yields after every write, including this process's own.
  public func changes() -> AsyncStream<Void> { listeners.subscribe() }

  /// Restores an earlier entry regardless of the current one, as a restored backup or a power cut that lost writes
  /// would.
  package func restore(_ earlier: VaultEntry) {
    entry.withLock { $0 = earlier }
    listeners.signal()
  }
}
