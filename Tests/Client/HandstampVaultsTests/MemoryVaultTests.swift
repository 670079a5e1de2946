import Handstamp
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `An in-memory vault` {
  @Test func `keeps the promises of a vault`() async throws {
    try await checkVault { MemoryVault() }
  }

  @Test func `releases the refresh lock when its holder goes away`() async {
    let vault = MemoryVault()
    var held = try? await vault.lock(.refresh, within: .zero)
    #expect(held != nil)
    #expect((try? await vault.lock(.refresh, within: .zero)) == nil)
    held = nil
    #expect((try? await vault.lock(.refresh, within: .zero)) != nil)
  }

  @Test func `can be rolled back, and notifies its observers`() async {
    let vault = MemoryVault()
    _ = await vault.edit(.begin(VaultSamples.session()))
    var changes = vault.changes().makeAsyncIterator()
    vault.restore(VaultEntry())
    await changes.next()
    #expect(await vault.read() == .absent)
  }

  @Test func `releases a cancelled waiter`() async {
    let vault = MemoryVault()
    let held = try? await vault.lock(.refresh, within: .zero)
    let waiter = Task { (try? await vault.lock(.refresh, within: .seconds(3600))) == nil }
    waiter.cancel()
    #expect(await waiter.value)
    held?.unlock()
    #expect((try? await vault.lock(.refresh, within: .zero)) != nil)
  }
}
