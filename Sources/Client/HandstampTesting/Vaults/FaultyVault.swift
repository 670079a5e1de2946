public import HandstampCore

/// A vault that fails on demand, and otherwise passes every call to another vault.
///
/// ```swift
/// let vault = FaultyVault(MemoryVault())
/// await vault.set { $0 = .locked }                       // the device is locked
/// await vault.set { $0 = .full }                         // readable, but not writable
/// await vault.set { $0.delay = .seconds(3) }             // slow, by the clock given at initialization
/// await vault.tear()                                     // a write was cut off: the vault is corrupt
/// await vault.set { $0.loses = { entry, _ in entry.session != nil } }
/// await vault.cutPower()                                 // loses what was written
/// await vault.set { $0 = .init() }                       // back to normal
/// ```
public actor FaultyVault: Vault {
  /// The faults from now on. There are none by default.
  public struct Faults: Sendable {
    /// Returned instead of the stored entry: ``VaultReading/trouble(_:)``, ``VaultReading/accessOnly(_:)``, or a
    /// false reading.
    public var reading: VaultReading?
    /// Every write fails with this error, and nothing is written.
    public var editing: VaultError?
    /// Writes for which this returns an error fail with it, and are not made.
    public var failing: (@Sendable (VaultEntry, VaultWrite) -> VaultError?)?
    /// Every write is made but fails with this error, as if the response were lost or the folder could not be synced.
    public var unconfirmed: VaultError?
    /// Writes that are reported as done, and can be read back, but are lost at the next ``FaultyVault/cutPower()``,
    /// unless a later one was really made.
    public var loses: (@Sendable (VaultEntry, VaultWrite) -> Bool)?
    /// The refresh lock is never available.
    public var holdsRefreshLock = false
    /// Every read first waits at this gate, and so does every change, which begins with one.
    public var gate: Gate?
    /// Every read takes this long, and so does every change, which begins with one.
    public var delay = Duration.zero

    public init() {}

    /// Neither readable nor writable until the device is unlocked.
    public static var locked: Faults { trouble(.locked) }
    /// Neither readable nor writable, as if the disk were missing.
    public static var unavailable: Faults { trouble(.unavailable("out of order")) }
    /// Readable, but not writable.
    public static var full: Faults {
      var faults = Faults()
      faults.editing = .unavailable("no space left")
      return faults
    }

    private static func trouble(_ trouble: VaultError) -> Faults {
      var faults = Faults()
      faults.reading = .trouble(trouble)
      faults.editing = trouble
      return faults
    }
  }

  private let base: any Vault
  private let clock: any SessionClock
  private var faults = Faults()
  private var isTorn = false
  /// The entry that was reported as written, but was not.
  private var volatile: VaultEntry?

  /// - Parameter clock: The clock that measures ``Faults/delay``; with a ``ManualClock``, the test advances it.
  public init(_ base: any Vault, clock: any SessionClock = ManualClock()) {
    self.base = base
    self.clock = clock
  }

  /// Changes the faults, for later calls and for those waiting at a gate.
  public func set(_ change: @Sendable (inout Faults) -> Void) { change(&faults) }

  /// Discards the writes that were reported as written but were not. The entry of the inner vault remains.
  public func cutPower() { volatile = nil }

  /// Leaves the vault as an interrupted write would in a vault that is not atomic: unreadable, and replaced only by a
  /// sign-in or a sign-out.
  public func tear() { isTorn = true }

  public func load() async -> VaultReading {
    await faults.gate?.wait()
    // The wait at a vault cannot be cancelled.
    if faults.delay > .zero { try? await clock.sleep(for: faults.delay) }
    if isTorn { return .trouble(.corrupt) }
    if let reading = faults.reading { return reading }
    if let volatile { return .value(volatile) }
    return await base.load()
  }

  public func replace(
    _ revision: UInt64, with entry: VaultEntry, as write: VaultWrite
  ) async throws(VaultError) -> VaultReplacement {
    if let trouble = faults.editing ?? faults.failing?(entry, write) { throw trouble }
    if isTorn {
      guard write.replacesCorruptContent else { throw .corrupt }
      // An unreadable entry does not count as a previous session.
      _ = await base.edit(.signOut(.erased, at: clock.now()))
      isTorn = false
      return .lost(nil)
    }
    let result =
      faults.loses?(entry, write) == true ? try await pretend(revision, entry) : try await make(revision, entry, write)
    if let trouble = faults.unconfirmed { throw trouble }
    return result
  }

  public func lock(_ kind: VaultLockKind, within limit: Duration) async throws(VaultError) -> any VaultLock {
    if kind == .refresh, faults.holdsRefreshLock { throw .unavailable("the refresh lock is held elsewhere") }
    return try await base.lock(kind, within: limit)
  }

  /// The signals of the inner vault; faults are not signalled.
  public nonisolated func changes() -> AsyncStream<Void> { base.changes() }

  private func make(
    _ revision: UInt64, _ entry: VaultEntry, _ write: VaultWrite
  ) async throws(VaultError) -> VaultReplacement {
    guard let volatile else { return try await base.replace(revision, with: entry, as: write) }
    guard volatile.revision == revision else { return .lost(volatile) }
    let result = try await base.replace(try await base.load().entry(for: .ordinary).revision, with: entry, as: write)
    if result == .done { self.volatile = nil }
    return result
  }

  private func pretend(_ revision: UInt64, _ entry: VaultEntry) async throws(VaultError) -> VaultReplacement {
    let found = if let volatile { volatile } else { try await base.load().entry(for: .ordinary) }
    guard found.revision == revision else { return .lost(found) }
    volatile = entry
    return .done
  }
}
