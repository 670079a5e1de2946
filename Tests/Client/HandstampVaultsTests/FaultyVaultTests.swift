import Handstamp
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A faulty vault` {
  let inside = MemoryVault()
  let session = VaultSamples.session()

  @Test func `without faults keeps the promises of a vault`() async throws {
    try await checkVault { FaultyVault(MemoryVault()) }
  }

  @Test(arguments: [VaultError.locked, .corrupt, .unavailable("full")])
  func `returns the configured error, and keeps its entry`(trouble: VaultError) async {
    let vault = FaultyVault(inside)
    _ = await vault.edit(.begin(session))
    let before = await inside.read()
    await vault.set {
      $0.reading = .trouble(trouble)
      $0.editing = trouble
    }
    #expect(await vault.read() == .trouble(trouble))
    #expect(await vault.edit(.signOut(.signedOut, at: VaultSamples.moment())) == .failed(trouble))
    #expect(await inside.read() == before)
    await vault.set { $0 = .init() }
    #expect(await vault.read() == before)
  }

  @Test func `loses its unsynced writes in a power failure`() async throws {
    let vault = FaultyVault(inside)
    _ = await vault.edit(.begin(session))
    let before = await vault.read()
    await vault.set { $0.loses = { entry, _ in entry.session?.pendingKey != nil } }
    let key = try #require(VaultSamples.key(7))
    let token = try #require(session.refresh)
    guard case .done(let entry) = await vault.edit(.prepare(session.id, holding: token, key: key)) else {
      Issue.record("the write was not pretended")
      return
    }
    #expect(entry.session?.pendingKey == key)
    #expect(await vault.read() == .value(entry))
    await vault.cutPower()
    #expect(await vault.read() == before)
  }

  @Test func `reports a failure for a successful write if so configured`() async {
    let vault = FaultyVault(inside)
    await vault.set { $0.unconfirmed = .unavailable("not synced") }
    #expect(await vault.edit(.begin(session)) == .failed(.unavailable("not synced")))
    guard case .value(let entry) = await vault.read() else {
      Issue.record("nothing was written")
      return
    }
    #expect(entry.session == session)
  }

  @Test func `waits at its gate`() async {
    let vault = FaultyVault(inside)
    let gate = Gate()
    await vault.set { $0.gate = gate }
    let edit = Task { await vault.edit(.begin(session)) }
    await gate.arrivals(1)
    #expect(await inside.read() == .absent)
    gate.open()
    _ = await edit.value
    #expect(await inside.read() != .absent)
  }

  @Test func `withholds its refresh lock`() async {
    let vault = FaultyVault(inside)
    await vault.set { $0.holdsRefreshLock = true }
    #expect((try? await vault.lock(.refresh, within: .seconds(5))) == nil)
  }
}
