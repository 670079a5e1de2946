public import HandstampCore

/// A vault in memory: for tests, for previews, and for sessions that must not outlive their process.
///
/// It may be given to several controllers and then stands for several processes that share one store: edits are applied
/// one at a time, there is one flight lock, and every write is signalled to all who listen. Nothing in it survives the last
/// reference.
public final class MemoryVault: Vault {
  private let entry: Locked<VaultEntry>
  private let listeners = ChangeListeners()
  private let flight: MemoryFlight
  private let signIns: MemoryFlight

  /// A vault that holds `entry`. `clock` measures how long ``lock(within:)`` waits; a test may hand in its own.
  public init(_ entry: VaultEntry = VaultEntry(), clock: any Clock<Duration> = ContinuousClock()) {
    self.entry = Locked(entry)
    flight = MemoryFlight(clock: clock)
    signIns = MemoryFlight(clock: clock)
  }

  @concurrent public func read() async -> VaultReading {
    let entry = entry.withLock { $0 }
    return entry.isEmpty ? .absent : .value(entry)
  }

  /// Never fails. "Durable" here means: as long as this object lives.
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

  /// Who waits longest gets it first. A lock whose handle goes away unused is given back.
  @concurrent public func lock(within limit: Duration) async throws(VaultTrouble) -> any FlightLock {
    guard let lock = await flight.lock(within: limit) else {
      throw .unavailable("the flight lock is held by another task of this program")
    }
    return lock
  }

  @concurrent public func lockSignIn(within limit: Duration) async throws(VaultTrouble) -> any FlightLock {
    guard let lock = await signIns.lock(within: limit) else {
      throw .unavailable("the sign-in lock is held by another task of this program")
    }
    return lock
  }

  /// Yields after every write, one's own included.
  public func changes() -> AsyncStream<Void> { listeners.stream() }

  /// Puts back an earlier content, whatever is there: a restored back-up, or a power cut that took the last writes.
  package func restore(_ earlier: VaultEntry) {
    entry.withLock { $0 = earlier }
    listeners.signal()
  }
}
