public import HandstampCore

/// A vault that fails on demand; what it does not fail at, the vault inside does.
///
/// ```swift
/// let vault = FaultyVault(MemoryVault())
/// await vault.set { $0.reading = .trouble(.locked) }     // the device is locked
/// await vault.set { $0.editing = .unavailable("full") }  // reads, but cannot write
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
    /// Every edit is written and yet fails with this: the answer was lost, or the folder could not be synced.
    public var unconfirmed: VaultTrouble?
    /// Edits that are reported as done, and read back, but are gone at the next ``FaultyVault/cutPower()``, unless
    /// another edit was really written in between.
    public var loses: (@Sendable (VaultEdit) -> Bool)?
    /// The flight lock is never to be had.
    public var holdsFlightLock = false
    /// Every read and edit waits here first.
    public var gate: Gate?

    public init() {}
  }

  private let base: any Vault
  private var faults = Faults()
  /// What was reported as written and is not.
  private var volatile: VaultEntry?

  public init(_ base: any Vault) { self.base = base }

  /// Changes what goes wrong, for calls that begin from now on and for those that wait at a gate.
  public func set(_ change: @Sendable (inout Faults) -> Void) { change(&faults) }

  /// Forgets what was reported as written and was not. What is stored is what an honest vault holds.
  public func cutPower() { volatile = nil }

  public func read() async -> VaultReading {
    await faults.gate?.wait()
    if let reading = faults.reading { return reading }
    if let volatile { return volatile.isEmpty ? .absent : .value(volatile) }
    return await base.read()
  }

  public func edit(_ edit: VaultEdit) async -> VaultOutcome {
    await faults.gate?.wait()
    if let trouble = faults.editing { return .failed(trouble) }
    let outcome = faults.loses?(edit) == true ? await pretend(edit) : await write(edit)
    if let trouble = faults.unconfirmed { return .failed(trouble) }
    return outcome
  }

  public func lock(within limit: Duration) async -> (any FlightLock)? {
    faults.holdsFlightLock ? nil : await base.lock(within: limit)
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
