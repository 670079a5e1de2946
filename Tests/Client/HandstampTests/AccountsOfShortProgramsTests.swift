import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@MainActor @Suite(.timeLimit(.minutes(10))) struct `Accounts of a program that exits soon` {
  typealias Session = SessionManager<String>
  private let clock = ManualClock()
  private let store = MemoryAccountsStore()
  private let server = "https://one.example.org"
  private let opened = Locked<[AccountID]>([])

  private func accounts(
    on vault: MemoryVault = MemoryVault(), failing failure: SessionError? = nil, _ steps: [CleanupStep] = []
  ) -> Accounts<String> {
    Accounts(store: store, clock: clock, observesChanges: false, qualifiesIDs: true) {
      [clock, opened] account throws(SessionError) in
      opened.withLock { $0.append(account) }
      if let failure { throw failure }
      return Session(
        backend: ScriptedBackend.rotating(), vault: vault, baseURL: base,
        transport: StubTransport { _ in .init(status: 200) }, policy: quiet, clock: clock, cleanups: steps
      ) { _ in "content" }
    }
  }

  private func grant() -> TokenResponse {
    var grant = TokenResponse.sample(0, session: "s1")
    grant.issuer = server
    return grant
  }

  private func record(_ id: String) -> ListedAccount {
    ListedAccount(id: AccountID(id), name: id, addedAt: UnixTime(seconds: 1))
  }

  private func leaving() async throws -> [AccountID] { try await store.read().get().leaving }

  @Test func `read and open nothing before they are told to`() async throws {
    _ = try await store.edit(.add(record("ada"))).get()
    _ = try await store.edit(.remove(AccountID("bob"), isLeaving: true)).get()
    let accounts = accounts()
    await othersFirst()
    #expect(!accounts.snapshot.isLoaded)
    await accounts.load()
    await othersFirst()
    #expect(accounts.accounts.map(\.id) == [AccountID("ada")])
    #expect(opened.withLock { $0 }.isEmpty)
    #expect(try await leaving() == [AccountID("bob")])
    // Another program's change is seen by the next read only.
    _ = try await store.edit(.activate(nil)).get()
    await othersFirst()
    #expect(accounts.activeID == AccountID("ada"))
  }

  @Test func `name the server in every ID, and take the name that was typed`() async throws {
    let accounts = accounts()
    let ada = try await accounts.add(named: "ada@example.org", tag: "work") { self.grant() }
    #expect(ada == AccountID("\(server)#ada"))
    #expect(accounts[ada]?.name == "ada@example.org")
    #expect(accounts[ada]?.tag == "work")
    #expect(accounts[ada]?.idAtServer == AccountID("ada"))
    #expect(accounts.session(of: ada)?.isAuthenticated == true)
    #expect(try await accounts.add { self.grant() } == ada)
    #expect(accounts.accounts.count == 1)
  }

  @Test func `forget a removed one, but none that was added again meanwhile`() async throws {
    for id in ["ada", "bob", "carol"] { _ = try await store.edit(.remove(AccountID(id), isLeaving: true)).get() }
    #expect(await accounts().forget(AccountID("carol")))
    #expect(try await leaving() == [AccountID("ada"), AccountID("bob")])
    _ = try await store.edit(.add(record("ada"))).get()
    #expect(await !accounts().forget(AccountID("ada")))
    #expect(try await store.read().get().accounts.map(\.id) == [AccountID("ada")])
    #expect(try await leaving() == [AccountID("bob")])
    #expect(opened.withLock { $0 }.isEmpty)
  }

  @Test func `are removed although the list was not read before, and stay named until their work is done`() async throws
  {
    let ada = try await accounts().add { self.grant() }
    let accounts = accounts()
    try await accounts.remove(ada)
    #expect(accounts.accounts.isEmpty)
    #expect(try await leaving() == [ada])
    #expect(await accounts.forget(ada))
    #expect(try await leaving() == [])
  }

  @Test func `stay in the list if another program signs in during their removal`() async throws {
    let vault = MemoryVault()
    let ada = try await accounts(on: vault).add(tag: "home") { self.grant() }
    let other = SessionController(backend: ScriptedBackend.rotating(), vault: vault, policy: quiet, clock: clock)
    let again = CleanupStep("again", .always) { _ in
      try await other.signIn(with: .sample(0, session: "s2"), by: .init(.password))
    }
    let accounts = accounts(on: vault, [again])
    try await accounts.remove(ada)
    #expect(accounts.accounts.map(\.id) == [ada])
    #expect(accounts[ada]?.tag == "home")
    #expect(try await leaving() == [])
  }

  @Test func `stay in the list if their session cannot be opened, which the caller learns`() async throws {
    let failure = SessionError.storage(.unavailable("no settings"))
    let accounts = accounts(failing: failure)
    await #expect(throws: failure) { @MainActor in try await accounts.add { self.grant() } }
    let ada = AccountID("\(server)#ada")
    #expect(accounts.accounts.map(\.id) == [ada])
    #expect(accounts.session(of: ada) == nil)
    await #expect(throws: failure) { @MainActor in try await accounts.remove(ada) }
    #expect(accounts.accounts.map(\.id) == [ada])
    #expect(try await leaving() == [])
  }
}
