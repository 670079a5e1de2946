import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@MainActor @Suite(.timeLimit(.minutes(10))) struct `Accounts that are added and removed` {
  typealias Session = SessionManager<String>
  private let clock = ManualClock()
  private let store = MemoryAccountsStore()
  private let vaults = Locked<[AccountID: MemoryVault]>([:])
  private let backend = ScriptedBackend.rotating()

  private func accounts(_ steps: [CleanupStep] = [], list: (any AccountsStore)? = nil) -> Accounts<
    String
  > {
    Accounts(store: list ?? store, clock: clock) { [vaults, clock, backend] account in
      let vault = vaults.withLock { vaults in
        let vault = vaults[account] ?? MemoryVault()
        vaults[account] = vault
        return vault
      }
      return Session(
        backend: backend, vault: vault, baseURL: base, transport: StubTransport { _ in .init(status: 200) },
        policy: quiet, clock: clock, cleanups: steps
      ) { _ in "content" }
    }
  }

  private func grant(_ session: String) -> TokenResponse { .sample(0, session: session) }

  private func leaving() async -> [AccountID] { (try? await store.read().get().leaving) ?? [] }

  @Test func `revoke their sessions after removal, once the server is reachable`() async throws {
    backend.answerRevocations(with: .noDecision(.network(.timedOut)))
    let accounts = accounts()
    let ada = try await accounts.add { self.grant("s1") }
    try await accounts.remove(ada)
    #expect(accounts.accounts.isEmpty)
    #expect(accounts.session(of: ada) == nil)
    backend.answerRevocations(with: .ended)
    while backend.revoked.isEmpty, !Task.isCancelled {
      clock.advance(by: .seconds(1))
      await othersFirst()
    }
    await othersFirst { await leaving() == [] }
  }

  @Test func `revoke their sessions at the next launch, though no list names them`() async throws {
    backend.answerRevocations(with: .noDecision(.network(.timedOut)))
    do {
      let accounts = accounts()
      let ada = try await accounts.add { self.grant("s1") }
      try await accounts.remove(ada)
    }
    #expect(await leaving() == [AccountID("ada")])
    backend.answerRevocations(with: .ended)
    let relaunched = accounts()
    await othersFirst { await leaving() == [] }
    // Perhaps twice: the released controller may have been sending it, and repeating is harmless.
    #expect(Set(backend.revoked) == [RevocationHandle("handle-s1")])
    #expect(relaunched.accounts.isEmpty)
  }

  @Test func `stay in the list if another program's sign-in succeeds and this one's fails`() async throws {
    let (broken, gate) = (FaultyVault(MemoryVault()), Gate())
    await broken.set {
      $0 = .full
      $0.gate = gate
    }
    let one = accounts()
    let other = Accounts<String>(store: store, clock: clock) { [clock, backend] _ in
      Session(
        backend: backend, vault: broken, baseURL: base, transport: StubTransport { _ in .init(status: 200) },
        policy: quiet, clock: clock
      ) { _ in "content" }
    }
    let failing = Task { _ = await #expect(throws: SessionError.self) { try await other.add { self.grant("s2") } } }
    await othersFirst { !other.accounts.isEmpty }
    let ada = try await one.add { self.grant("s1") }
    gate.open()
    await failing.value
    await one.load()
    #expect(one.accounts.map(\.id) == [ada])
    #expect(one.session(of: ada)?.isAuthenticated == true)
    await broken.set { $0 = .init() }
    try await other.add { self.grant("s3") }
    #expect(other.session(of: ada)?.isAuthenticated == true)
  }

  @Test func `stay in the list if another program signs in during their removal`() async throws {
    let list = InterruptedStore(store)
    let (one, other) = (accounts(list: list), accounts())
    let ada = try await one.add(tag: "home") { self.grant("s1") }
    list.beforeNextEdit { _ = await #expect(throws: Never.self) { try await other.add { self.grant("s2") } } }
    try await one.remove(ada)
    #expect(one.accounts.map(\.tag) == ["home"])
    #expect(one.activeID == ada)
    // The vault reports other processes' writes a little later.
    await othersFirst { one.session(of: ada)?.isAuthenticated == true }
    #expect(try await one.session(of: ada)?.controller.token() == AccessToken("access-s2-0"))
  }

  @Test func `are listed once signed in, even if another program removed them meanwhile`() async throws {
    let list = InterruptedStore(store)
    let (one, other) = (accounts(list: list), accounts())
    list.afterNextEdit {
      await other.load()
      _ = await #expect(throws: Never.self) { try await other.remove(AccountID("ada")) }
    }
    let ada = try await one.add { self.grant("s1") }
    #expect(one.accounts.map(\.id) == [ada])
    #expect(one.activeID == ada)
    #expect(try await one.session(of: ada)?.controller.token() == AccessToken("access-s1-0"))
  }

  @Test func `keep their tag if another program removes them during a sign-in`() async throws {
    let list = InterruptedStore(store)
    let (one, other) = (accounts(list: list), accounts())
    try await other.add(tag: "home") { self.grant("s1") }
    list.afterNextEdit { _ = await #expect(throws: Never.self) { try await other.remove(AccountID("ada")) } }
    try await one.add { self.grant("s2") }
    #expect(one.accounts.map(\.tag) == ["home"])
  }

  @Test func `stay in the list if they are added during their removal`() async throws {
    let gate = Gate()
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let accounts = accounts([
      CleanupStep("slow", .always) { _ in
        begin.yield()
        await gate.wait()
      }
    ])
    let ada = try await accounts.add { self.grant("s1") }
    async let removal = accounts.remove(ada)
    var steps = begun.makeAsyncIterator()
    _ = await steps.next()
    async let addition = accounts.add { .sample(0, session: "s2") }
    await othersFirst()
    gate.open()
    _ = try await (removal, addition)
    #expect(accounts.accounts.map(\.id) == [ada])
    #expect(accounts.session(of: ada)?.isAuthenticated == true)
    #expect(await leaving() == [])
  }
}

/// A list of accounts that another program edits just before or after the next edit.
private final class InterruptedStore: AccountsStore {
  typealias Work = @MainActor @Sendable () async -> Void
  private let base: MemoryAccountsStore
  private let before = Locked<Work?>(nil)
  private let after = Locked<Work?>(nil)

  init(_ base: MemoryAccountsStore) { self.base = base }

  func beforeNextEdit(_ work: @escaping Work) { before.withLock { $0 = work } }
  func afterNextEdit(_ work: @escaping Work) { after.withLock { $0 = work } }

  @concurrent func read() async -> Result<AccountsList, VaultError> { await base.read() }

  @concurrent func edit(_ edit: AccountsEdit) async -> Result<AccountsList, VaultError> {
    await before.take()?()
    let result = await base.edit(edit)
    await after.take()?()
    return result
  }

  func changes() -> AsyncStream<Void> { base.changes() }

  @concurrent func lockSignIn(within limit: Duration) async throws(VaultError) -> (any VaultLock)? {
    try await base.lockSignIn(within: limit)
  }
}

extension Locked<InterruptedStore.Work?> {
  fileprivate func take() -> InterruptedStore.Work? {
    withLock { work in
      defer { work = nil }
      return work
    }
  }
}
