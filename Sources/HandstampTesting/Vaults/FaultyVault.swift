public import HandstampCore

/// A vault that fails on demand; what it does not fail at, the vault inside does.
///
/// ```swift
/// let vault = FaultyVault(MemoryVault())
/// await vault.set { $0 = .locked }                       // the device is locked
/// await vault.set { $0 = .full }                         // reads, but cannot write
/// await vault.set { $0.delay = .seconds(3) }             // slow, by the clock it was made with
/// await vault.tear()                                     // a write was cut in the middle: what is there is no vault
/// await vault.set { $0.loses = { if case .prepare = $0 { true } else { false } } }
/// await vault.cutPower()                                 // and the rotation key was never written
/// await vault.set { $0 = .init() }                       // all is well again
/// ```
public actor FaultyVault: Vault {
  /// What goes wrong from now on. As it is made, nothing does.
  public struct Faults: Sendable {
    /// Answered instead of what is stored: ``VaultReading/trouble(_:)``, ``VaultReading/accessOnly(_:_:_:)``, or a lie.
    public var reading: VaultReading?
    /// Every edit fails with this, and nothing is written.
    public var editing: VaultTrouble?
    /// Edits for which this returns something fail with it, and are not written.
    public var failing: (@Sendable (VaultEdit) -> VaultTrouble?)?
    /// Every edit is written and yet fails with this: the answer was lost, or the folder could not be synced.
    public var unconfirmed: VaultTrouble?
    /// Edits that are reported as done, and read back, but are gone at the next ``FaultyVault/cutPower()``, unless
    /// another edit was really written in between.
    public var loses: (@Sendable (VaultEdit) -> Bool)?
    /// The flight lock is never to be had.
    public var holdsFlightLock = false
    /// Every read and edit waits here first.
    public var gate: Gate?
    /// Every read and edit takes that long.
    public var delay = Duration.zero

    public init() {}

    /// Neither reads nor writes until the device is unlocked.
    public static var locked: Faults { trouble(.locked) }
    /// Neither reads nor writes, as when a disk is gone.
    public static var unavailable: Faults { trouble(.unavailable("out of order")) }
    /// Reads, and cannot write.
    public static var full: Faults {
      var faults = Faults()
      faults.editing = .unavailable("no space left")
      return faults
    }

    private static func trouble(_ trouble: VaultTrouble) -> Faults {
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
  /// What was reported as written and is not.
  private var volatile: VaultEntry?

  /// - Parameter clock: what ``Faults/delay`` is measured by; with a ``ManualClock`` the test moves it.
  public init(_ base: any Vault, clock: any SessionClock = ManualClock()) {
    self.base = base
    self.clock = clock
  }

  /// Changes what goes wrong, for calls that begin from now on and for those that wait at a gate.
  public func set(_ change: @Sendable (inout Faults) -> Void) { change(&faults) }

  /// Forgets what was reported as written and was not. What is stored is what an honest vault holds.
  public func cutPower() { volatile = nil }

  /// Leaves what a write leaves that is cut in the middle, in a vault that is not atomic: nobody can read it, and only a
  /// sign-in or a sign-out takes its place.
  public func tear() { isTorn = true }

  private func wait() async {
    await faults.gate?.wait()
    // Whoever waits for a vault cannot be cancelled.
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
      // What nobody could read is no former session.
      _ = await base.edit(.endWhatever(.erased, at: clock.now()))
      isTorn = false
    }
    let outcome = faults.loses?(edit) == true ? await pretend(edit) : await write(edit)
    if let trouble = faults.unconfirmed { return .failed(trouble) }
    return outcome
  }

  public func lock(within limit: Duration) async throws(VaultTrouble) -> any FlightLock {
    if faults.holdsFlightLock { throw .unavailable("the flight lock is held elsewhere") }
    return try await base.lock(within: limit)
  }

  public func lockSignIn(within limit: Duration) async throws(VaultTrouble) -> any FlightLock {
    try await base.lockSignIn(within: limit)
  }

  /// What the vault inside signals; faults signal nothing.
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
