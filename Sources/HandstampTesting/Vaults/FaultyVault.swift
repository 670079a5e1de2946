public import HandstampCore

/// A vault that fails on demand, and otherwise passes every call to another vault.
///
/// ```swift
/// let vault = FaultyVault(MemoryVault())
/// await vault.set { $0 = .locked }                       // the device is locked
/// await vault.set { $0 = .full }                         // readable, but not writable
/// await vault.set { $0.delay = .seconds(3) }             // slow, by the clock given at initialization
/// await vault.tear()                                     // a write was cut off: the vault is corrupt
/// await vault.set { $0.loses = { if case .prepare = $0 { true } else { false } } }
/// await vault.cutPower()                                 // loses the rotation key
/// await vault.set { $0 = .init() }                       // back to normal
/// ```
public actor FaultyVault: Vault {
  /// The faults from now on. There are none by default.
  public struct Faults: Sendable {
    /// Returned instead of the stored entry: ``VaultReading/trouble(_:)``, ``VaultReading/accessOnly(_:)``, or a
    /// false reading.
    public var reading: VaultReading?
    /// Every edit fails with this error, and nothing is written.
    public var editing: VaultError?
    /// Edits for which this returns an error fail with it, and are not written.
    public var failing: (@Sendable (VaultEdit) -> VaultError?)?
    /// Every edit is written but fails with this error, as if the response were lost or the folder could not be synced.
    public var unconfirmed: VaultError?
    /// Edits that are reported as done, and can be read back, but are lost at the next ``FaultyVault/cutPower()``,
    /// unless a later edit was really written.
    public var loses: (@Sendable (VaultEdit) -> Bool)?
    /// The refresh lock is never available.
    public var holdsRefreshLock = false
    /// Every read and edit first waits at this gate.
    public var gate: Gate?
    /// Every read and edit takes this long.
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

  /// Discards the edits that were reported as written but were not. The entry of the inner vault remains.
  public func cutPower() { volatile = nil }

  /// Leaves the vault as an interrupted write would in a vault that is not atomic: unreadable, and replaced only by a
  /// sign-in or a sign-out.
  public func tear() { isTorn = true }

  private func wait() async {
    await faults.gate?.wait()
    // The wait at a vault cannot be cancelled.
    if faults.delay > .zero { try? await clock.sleep(for: faults.delay) }
  }

  public func read() async -> VaultReading {
    await wait()
    if isTorn { return .trouble(.corrupt) }
    if let reading = faults.reading { return reading }
    if let volatile { return volatile.isEmpty ? .absent : .value(volatile) }
    return await base.read()
  }

  public func edit(_ edit: VaultEdit) async -> VaultOutcome {
    await wait()
    if let trouble = faults.editing ?? faults.failing?(edit) { return .failed(trouble) }
    if isTorn {
      guard edit.replacesCorruptContent else { return .failed(.corrupt) }
      // An unreadable entry does not count as a previous session.
      _ = await base.edit(.endWhatever(.erased, at: clock.now()))
      isTorn = false
    }
    let outcome = faults.loses?(edit) == true ? await pretend(edit) : await write(edit)
    if let trouble = faults.unconfirmed { return .failed(trouble) }
    return outcome
  }

  public func lock(within limit: Duration) async throws(VaultError) -> any VaultLock {
    if faults.holdsRefreshLock { throw .unavailable("the refresh lock is held elsewhere") }
    return try await base.lock(within: limit)
  }

  public func lockSignIn(within limit: Duration) async throws(VaultError) -> any VaultLock {
    try await base.lockSignIn(within: limit)
  }

  /// The signals of the inner vault; faults are not signalled.
  public nonisolated func changes() -> AsyncStream<Void> { base.changes() }

  private func write(_ edit: VaultEdit) async -> VaultOutcome {
    let outcome = await base.edit(edit)
    if case .done = outcome { volatile = nil }
    return outcome
  }

  private func pretend(_ edit: VaultEdit) async -> VaultOutcome {
    var entry = VaultEntry()
    if let volatile {
      entry = volatile
    } else {
      switch await base.read() {
      case .value(let stored): entry = stored
      case .absent: break
      case .accessOnly: return .failed(.locked)
      case .trouble(let trouble): return .failed(trouble)
      }
    }
    switch edit.applied(to: entry) {
    case .write(let new):
      volatile = new
      return .done(new)
    case .unchanged: return .done(entry)
    case .conflict: return .conflict(entry)
    }
  }
}
