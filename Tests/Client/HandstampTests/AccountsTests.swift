import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Observation
import Testing

@MainActor @Suite(.timeLimit(.minutes(10))) struct `Several accounts` {
  typealias Session = SessionManager<String>
  private let clock = ManualClock()
  private let store = MemoryAccountsStore()
  private let vaults = Locked<[AccountID: MemoryVault]>([:])

  private func accounts(_ made: Locked<[AccountID]> = Locked([])) -> Accounts<String> {
    Accounts(store: store, clock: clock) { [vaults, clock] account in
      made.withLock { $0.append(account) }
      let vault = vaults.withLock { vaults in
        let vault = vaults[account] ?? MemoryVault()
        vaults[account] = vault
        return vault
      }
      return Session(
        backend: ScriptedBackend.rotating(), vault: vault, baseURL: base,
        transport: StubTransport { _ in .init(status: 200) }, policy: quiet, clock: clock
      ) { _ in "content" }
    }
  }

  private func grant(_ name: String) -> TokenResponse {
    var grant = TokenResponse.sample(0, session: "session-\(name)")
    grant.profile = Profile(id: AccountID(name), name: name)
    return grant
  }

  @Test func `are listed in order, the first is active, and only activate changes that`() async throws {
    let accounts = accounts()
    let ada = try await accounts.add { self.grant("ada") }
    let bob = try await accounts.add(tag: "work") { self.grant("bob") }
    #expect(accounts.accounts.map(\.id) == [ada, bob])
    #expect(accounts.activeID == ada)
    #expect(accounts.active?.currentUser?.id == ada)
    // A call for another account concerns that account only.
    let token = try await accounts.session(of: bob)?.controller.token()
    #expect(token == AccessToken("access-session-bob-0"))
    #expect(accounts.activeID == ada)
    try await accounts.activate(bob)
    #expect(accounts.active?.currentUser?.id == bob)
    #expect(accounts.account(tagged: "work")?.id == bob)
  }

  @Test func `have an active one again as soon as one is added or signed in to again`() async throws {
    for isNew in [true, false] {
      let accounts = accounts()
      let ada = try await accounts.add { self.grant("ada") }
      let bob = try await accounts.add { self.grant("bob") }
      try await accounts.remove(ada)
      #expect(accounts.activeID == nil)
      // No other account takes the place of the removed one by itself.
      #expect(accounts.accounts.map(\.id) == [bob])
      let next = try await accounts.add { self.grant(isNew ? "eve" : "bob") }
      #expect(accounts.activeID == next)
      try await accounts.add { self.grant("ada") }
      #expect(accounts.activeID == next)
      for account in accounts.accounts { try await accounts.remove(account.id) }
    }
  }

  @Test func `are found by tag, and observers of an unknown account are told when it is there`() async throws {
    let accounts = accounts()
    let told = Locked(0)
    func watch() {
      withObservationTracking {
        #expect(accounts[AccountID("ada")] == nil)
        #expect(accounts.account(tagged: "home") == nil)
      } onChange: {
        told.withLock { $0 += 1 }
      }
    }
    await accounts.load()
    watch()
    let ada = try await accounts.add(tag: "home") { self.grant("ada") }
    #expect(told.withLock { $0 } == 1)
    let bob = try await accounts.add { self.grant("bob") }
    #expect(accounts.account(tagged: "home")?.id == ada)
    try await accounts.setTag("home", of: bob)
    #expect(accounts.account(tagged: "home")?.id == bob)
    #expect(accounts[ada]?.tag == nil)
    try await accounts.setTag(nil, of: bob)
    #expect(accounts.account(tagged: "home") == nil)
  }

  @Test func `end one at a time`() async throws {
    let accounts = accounts()
    let ada = try await accounts.add { self.grant("ada") }
    let bob = try await accounts.add { self.grant("bob") }
    await accounts.session(of: ada)?.signOut()
    #expect(accounts.session(of: ada)?.isAuthenticated == false)
    #expect(accounts.session(of: bob)?.isAuthenticated == true)
    _ = try await accounts.session(of: bob)?.controller.token()
    // A signed-out account stays listed: the user may come back.
    #expect(accounts.accounts.map(\.id) == [ada, bob])
    try await accounts.remove(ada)
    #expect(accounts.accounts.map(\.id) == [bob])
    #expect(accounts.activeID == nil)
    #expect(accounts.session(of: ada) == nil)
  }

  @Test func `are back after a launch, and their sessions are opened on demand`() async throws {
    let first = accounts()
    for number in 0..<20 { try await first.add { self.grant("a\(number)") } }
    try await first.activate(AccountID("a7"))
    let made = Locked<[AccountID]>([])
    let relaunched = accounts(made)
    await relaunched.load()
    #expect(relaunched.accounts.count == 20)
    #expect(made.withLock { $0 }.isEmpty)
    let session = try #require(relaunched.active)
    #expect(await session.restoreSession().value??.profile == Profile(id: AccountID("a7"), name: "a7"))
    #expect(made.withLock { $0 } == [AccountID("a7")])
  }

  @Test func `follow another program's switch`() async throws {
    let one = accounts()
    let ada = try await one.add { self.grant("ada") }
    let bob = try await one.add { self.grant("bob") }
    let other = accounts()
    await other.load()
    #expect(other.activeID == ada)
    try await one.activate(bob)
    await othersFirst { other.activeID == bob }
  }

  @Test func `leave no trace of a failed sign-in`() async throws {
    let accounts = accounts()
    try await accounts.add { self.grant("ada") }
    var anonymous = grant("bob")
    anonymous.profile = nil
    for result in [
      Result<TokenResponse, SessionError>.failure(.requestFailed(.network(.timedOut))), .success(anonymous),
    ] {
      await #expect(throws: SessionError.self) { @MainActor in _ = try await accounts.add { try result.get() } }
    }
    #expect(accounts.accounts.map(\.id) == [AccountID("ada")])
  }

  @Test func `refuse to activate an unknown account`() async throws {
    let accounts = accounts()
    let ada = try await accounts.add { self.grant("ada") }
    await #expect(throws: SessionError.refused(code: "unknown_account", detail: "bob")) { @MainActor in
      try await accounts.activate(AccountID("bob"))
    }
    #expect(accounts.activeID == ada)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A list of accounts` {
  let ada = ListedAccount(id: AccountID("ada"), name: "Ada", tag: "home", addedAt: UnixTime(seconds: 1))
  let bob = ListedAccount(id: AccountID("bob"), name: "Bob", tag: "home", addedAt: UnixTime(seconds: 2))

  @Test func `gives a tag to one account only`() throws {
    var list = try #require(AccountsList().applying(.add(ada)))
    list = try #require(list.applying(.add(bob)))
    #expect(list.account(tagged: "home")?.id == bob.id)
    #expect(list[ada.id]?.tag == nil)
  }

  @Test func `keeps an account's place, tag and date when it signs in again`() throws {
    var list = try #require(AccountsList().applying(.add(ada)))
    list = try #require(list.applying(.add(bob)))
    list = try #require(list.applying(.tag(ada.id, "first")))
    let again = ListedAccount(id: ada.id, name: "Ada Lovelace", addedAt: UnixTime(seconds: 9))
    list = try #require(list.applying(.add(again)))
    #expect(list.accounts.map(\.id) == [ada.id, bob.id])
    #expect(
      list[ada.id] == ListedAccount(id: ada.id, name: "Ada Lovelace", tag: "first", addedAt: UnixTime(seconds: 1)))
  }

  @Test func `is not written when nothing changes`() throws {
    let list = try #require(AccountsList().applying(.add(ada)))
    #expect(list.applying(.add(ada)) == nil)
    #expect(list.applying(.activate(ada.id)) == nil)
    #expect(list.applying(.activate(AccountID("unknown"))) == nil)
    #expect(list.applying(.remove(AccountID("unknown"))) == nil)
    #expect(list.applying(.tag(AccountID("unknown"), "x")) == nil)
  }
}
