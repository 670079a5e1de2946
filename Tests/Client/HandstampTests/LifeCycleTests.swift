import Handstamp
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Refresh locks of an app` {
  @Test func `keep the promises of a vault`() async throws {
    let keeper = RefreshLockManager()
    try await checkVault {
      Guarded(inner: MemoryVault(), keeper: keeper)
    } again: {
      Guarded(inner: $0.inner, keeper: RefreshLockManager())
    }
  }

  @Test func `are released before it is suspended, and none is acquired until it resumes`() async throws {
    let vault = MemoryVault()
    let keeper = RefreshLockManager()
    let held = try? await keeper.lock(.refresh, of: vault, within: .zero)
    #expect(held != nil && keeper.count == 1)
    #expect((try? await vault.lock(.refresh, within: .zero)) == nil)
    keeper.suspend()
    let widget = try? await vault.lock(.refresh, within: .zero)
    #expect(widget != nil && keeper.count == 0)
    // The app's own late unlock does not release the widget's lock.
    held?.unlock()
    #expect((try? await vault.lock(.refresh, within: .zero)) == nil)
    widget?.unlock()
    #expect((try? await keeper.lock(.refresh, of: vault, within: .zero)) == nil)
    keeper.resume()
    let again = try? await keeper.lock(.refresh, of: vault, within: .zero)
    #expect(again != nil)
    again?.unlock()
    #expect(keeper.count == 0)
  }

  @Test func `that are acquired too late are released at once`() async throws {
    let vault = MemoryVault()
    let keeper = RefreshLockManager()
    let first = try #require(try? await vault.lock(.refresh, within: .zero))
    let waiting = Task { try? await keeper.lock(.refresh, of: vault, within: .seconds(600)) }
    await othersFirst()
    keeper.suspend()
    first.unlock()
    #expect(await waiting.value == nil)
    let free = try? await vault.lock(.refresh, within: .zero)
    #expect(free != nil)
    free?.unlock()
  }

  private struct Guarded: Vault {
    let inner: MemoryVault
    let keeper: RefreshLockManager
    @concurrent func load() async -> VaultReading { await inner.load() }
    @concurrent func replace(
      _ revision: UInt64, with entry: VaultEntry, as write: VaultWrite
    ) async throws(VaultError) -> VaultReplacement {
      try await inner.replace(revision, with: entry, as: write)
    }
    @concurrent func lock(_ kind: VaultLockKind, within limit: Duration) async throws(VaultError) -> any VaultLock {
      try await keeper.lock(kind, of: inner, within: limit)
    }
    func changes() -> AsyncStream<Void> { inner.changes() }
  }
}

@MainActor @Suite(.timeLimit(.minutes(10))) struct `The life cycle of an app` {
  private let vault = MemoryVault()
  private let clock = ManualClock()

  private func controller(_ backend: ScriptedBackend, _ vault: any Vault, presence: PresenceLock? = nil)
    -> SessionController
  {
    SessionController(backend: backend, vault: vault, policy: quiet, clock: clock, presence: presence)
  }

  @Test func `restores a session whose vault was locked at launch`() async throws {
    _ = await vault.edit(.begin(VaultSamples.session()))
    let faulty = FaultyVault(vault)
    await faulty.set { $0 = .locked }
    let controller = controller(.rotating(), faulty)
    await first(controller.states) { $0 == .unavailable(.storage(.locked)) }
    let life = SessionLifeCycle { [controller] }
    await faulty.set { $0 = .init() }
    life.didUnlockDevice()
    #expect(await first(controller.states, where: \.isSignedIn) != nil)
    #expect(try await controller.token().text == "access-s1-1")
  }

  @Test func `retries when the network is back, and not in the background`() async throws {
    _ = await vault.edit(.begin(VaultSamples.session()))
    let faulty = FaultyVault(vault)
    await faulty.set { $0 = .locked }
    let controller = controller(.rotating(), faulty)
    await first(controller.states) { $0 == .unavailable(.storage(.locked)) }
    let life = SessionLifeCycle { [controller] }
    await faulty.set { $0 = .init() }
    life.didEnterBackground()
    life.didRegainNetwork()
    for _ in 0..<3 { await othersFirst() }
    #expect(controller.state == .unavailable(.storage(.locked)))
    life.didEnterForeground()
    #expect(await first(controller.states, where: \.isSignedIn) != nil)
  }

  @Test func `covers the locks of its sessions, wherever their vaults are`() async throws {
    let (leave, gate) = (ScriptedLeave(), Gate())
    let presence = PresenceLock(ScriptedPresence(), policy: .untilExit, reason: "test", clock: clock)
    let controller = controller(.held(by: gate), vault, presence: presence)
    try await controller.signIn { .sample(0) }
    try await presence.unlock()
    clock.advance(by: .seconds(600))
    let refresh = Task { try await controller.token() }
    await gate.arrivals(1)
    let life = SessionLifeCycle(backgroundTime: leave) { [controller] }
    let given = life.didEnterBackground()
    #expect(!presence.isOpen && leave.isHeld)
    #expect((try? await vault.lock(.refresh, within: .zero)) == nil)
    leave.expire()
    let widget = try? await vault.lock(.refresh, within: .zero)
    #expect(widget != nil)
    widget?.unlock()
    gate.open()
    _ = try? await refresh.value
    await given?.value
    life.didEnterForeground()
    #expect(controller.state.isSignedIn)
  }

  @Test func `refreshes in the background, without a presence check`() async throws {
    let presence = ScriptedPresence { _ in .declined }
    let lock = PresenceLock(presence, policy: .perUse, reason: "test", clock: clock)
    let backend = ScriptedBackend.rotating()
    let controller = controller(backend, vault, presence: lock)
    try await controller.signIn { .sample(0) }
    let life = SessionLifeCycle { [controller] }
    #expect(await life.refreshInBackground(.seconds(60)))
    #expect(backend.calls.isEmpty)
    clock.advance(by: .seconds(590))
    #expect(await life.refreshInBackground(.seconds(60)))
    #expect(backend.calls.count == 1 && presence.reasons.isEmpty)
    await controller.signOut()
    #expect(await life.refreshInBackground())
  }

  @Test func `reports a failed background refresh`() async throws {
    let controller = controller(ScriptedBackend { _, _, _ in .noDecision(.network(.timedOut)) }, vault)
    try await controller.signIn { .sample(0) }
    clock.advance(by: .seconds(601))
    let life = SessionLifeCycle { [controller] }
    #expect(await !life.refreshInBackground(.seconds(60)))
    #expect(controller.state.isSignedIn)
  }

  @Test func `closes the presence lock in the background`() async throws {
    let lock = PresenceLock(ScriptedPresence(), policy: .untilExit, reason: "test", clock: clock)
    let controller = controller(.rotating(), vault, presence: lock)
    try await lock.unlock()
    #expect(lock.isOpen)
    #expect(SessionLifeCycle { [controller] }.didEnterBackground() == nil)
    #expect(!lock.isOpen)
  }

  @Test func `lets a refresh finish, then releases all locks`() async throws {
    let (leave, gate) = (ScriptedLeave(), Gate())
    let controller = controller(.held(by: gate), vault)
    let keeper = controller.refreshLocks
    try await controller.signIn { .sample(0) }
    clock.advance(by: .seconds(600))
    let refresh = Task { try await controller.token() }
    await gate.arrivals(1)
    let life = SessionLifeCycle(backgroundTime: leave) { [controller] }
    #expect(keeper.count == 1)
    let given = life.didEnterBackground()
    // Nothing may happen here. A release that did not wait for the refresh would need one turn.
    for _ in 0..<3 { await othersFirst() }
    #expect(leave.isHeld && keeper.count == 1)
    gate.open()
    _ = try await refresh.value
    await given?.value
    #expect(!leave.isHeld && keeper.count == 0)
    #expect((try? await keeper.lock(.refresh, of: vault, within: .zero)) == nil)
    life.didEnterForeground()
    #expect((try? await keeper.lock(.refresh, of: vault, within: .zero)) != nil)
  }

  @Test func `releases locks when background time ends, and the refresh still finishes`() async throws {
    let (leave, gate) = (ScriptedLeave(), Gate())
    let controller = controller(.held(by: gate), vault)
    let keeper = controller.refreshLocks
    try await controller.signIn { .sample(0) }
    clock.advance(by: .seconds(600))
    let refresh = Task { try await controller.token() }
    await gate.arrivals(1)
    let life = SessionLifeCycle(backgroundTime: leave) { [controller] }
    let given = life.didEnterBackground()
    leave.expire()
    #expect(keeper.count == 0)
    let widget = try? await vault.lock(.refresh, within: .zero)
    #expect(widget != nil)
    await given?.value
    #expect(!leave.isHeld)
    gate.open()
    _ = try await refresh.value
    #expect((try? await vault.lock(.refresh, within: .zero)) == nil)
    widget?.unlock()
  }

  @Test func `releases locks at once without background time`() async throws {
    let controller = controller(.rotating(), vault)
    let keeper = controller.refreshLocks
    let held = try? await keeper.lock(.refresh, of: vault, within: .zero)
    let leave = ScriptedLeave()
    leave.isOffered = false
    #expect(SessionLifeCycle(backgroundTime: leave) { [controller] }.didEnterBackground() == nil)
    #expect(keeper.count == 0 && held != nil)
  }
}

@MainActor private final class ScriptedLeave: BackgroundTime {
  var isOffered = true
  private(set) var isHeld = false
  private var onEnd: (@MainActor () -> Void)?

  func begin(_ onEnd: @escaping @MainActor () -> Void) -> Bool {
    guard isOffered else { return false }
    isHeld = true
    self.onEnd = onEnd
    return true
  }

  func end() { isHeld = false }
  func expire() { onEnd?() }
}
