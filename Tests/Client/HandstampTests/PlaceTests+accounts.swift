import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

/// Places of accounts, and of what only an earlier place knows.
extension `The place of a session` {
  private typealias Session = SessionManager<Void>

  @MainActor private func accounts(
    _ fixture: Fixture, _ store: MemoryAccountsStore, _ vaults: Locked<[AccountID: MemoryVault]>,
    earlier: [EarlierPlace] = [],
    observesChanges: Bool = false
  ) async -> Accounts<Void> {
    let adopted = Locked<[AccountID: [EarlierPlace]]>([:])
    let accounts = Accounts<Void>(
      store: store, clock: fixture.clock, observesChanges: observesChanges, earlier: earlier, adopted: adopted
    ) { account in
      let vault = vaults.withLock { vaults in
        let vault = vaults[account] ?? MemoryVault()
        vaults[account] = vault
        return vault
      }
      return Session(
        backend: fixture.server, vault: vault, earlier: adopted.withLock { $0[account, default: []] }, baseURL: base,
        transport: StubTransport { _ in .init(status: 200) }, policy: Self.policy, clock: fixture.clock
      ) { _ in }
    }
    await accounts.load()
    return accounts
  }

  @MainActor @Test func `of a person is refused to another one, whose session is revoked`() async throws {
    let fixture = try Fixture()
    let accounts = await accounts(fixture, MemoryAccountsStore(), Locked([:]))
    let ada = try await accounts.add { try await fixture.server.signIn("ada") }
    let session = try #require(accounts.session(of: ada))
    let bob = try await fixture.server.signIn("bob")
    await #expect(throws: SessionError.refused(code: "other_account", detail: "the tokens belong to another account")) {
      try await session.signIn { bob }
    }
    #expect(session.currentUser?.name == "ada")
    #expect(await session.controller.waitForRevocations(timeout: .seconds(60)))
    #expect(try await !fixture.server.isLive(try #require(bob.sessionID)))
    // Herself again, and him as an account of his own.
    try await session.signIn { try await fixture.server.signIn("ada") }
    let other = try await accounts.add { try await fixture.server.signIn("bob") }
    #expect(accounts.accounts.map(\.id) == [ada, other])
    #expect(accounts.session(of: other)?.currentUser?.name == "bob")
  }

  /// The program is ended after each edit, and the next one goes on.
  @MainActor @Test func `of the active account moves, whatever ends the program between two accounts`() async throws {
    for limit in 0..<12 {
      let fixture = try Fixture()
      let (store, vaults) = (MemoryAccountsStore(), Locked<[AccountID: MemoryVault]>([:]))
      let list = await accounts(fixture, store, vaults)
      try await list.add { try await fixture.server.signIn("ada") }
      let session = try #require(list.active?.snapshot.session.value ?? nil).id
      fixture.clock.advance(by: .seconds(60))
      try await list.add { try await fixture.server.signIn("bob") }
      let left = Locked(limit)
      func place(_ left: Locked<Int>) -> EarlierPlace {
        EarlierPlace(
          kind: .accounts(store, vault: { id in DyingVault(vaults.withLock { $0[id] ?? MemoryVault() }, left) }))
      }
      _ = try? await fixture.open(DyingVault(fixture.vault, left), earlier: [place(left)]).token()
      let app = fixture.open(fixture.vault, earlier: [place(Locked(.max))])
      _ = try await app.token()
      guard case .signedIn(let facts) = app.state else { throw Unexpected() }
      #expect(facts.id == session && facts.profile?.name == "ada", "ended after \(limit) edits")
      #expect(await app.waitForRevocations(timeout: .seconds(60)))
      await app.signOut()
      #expect(await app.waitForRevocations(timeout: .seconds(60)))
      #expect(try await !fixture.server.isLive(session))
    }
  }

  /// The first thing that the program does, before it has read its storage.
  @Test func `says at once that nothing can end it at the server`() async throws {
    for isTaken in [true, false] {
      let fixture = try Fixture()
      var grant = try await fixture.server.signIn("ada")
      grant.revocation = nil
      let (bare, old) = (grant, Locked<TokenResponse?>(isTaken ? grant : nil))
      let server = RenamedServer(fixture.server, "https://a.example.org")
      let place = EarlierPlace.tokens(read: { old.withLock { $0 } }) { old.withLock { $0 = nil } }
      func open() -> SessionController {
        SessionController(
          backend: server, vault: fixture.vault, earlier: [place], policy: Self.policy, clock: fixture.clock)
      }
      if !isTaken { try await open().signIn(with: bare, by: .init(.password)) }
      #expect(await open().signOut().isUnrevoked)
      fixture.clock.advance(by: .seconds(1))
      #expect(await !open().signOut().isUnrevoked, "that was an earlier one")
    }
  }

  @Test func `that ended in one place is not alive in another, whose own order counts`() async throws {
    // Signed out by a clock that was an hour ahead, and in again: that is the order there.
    let fixture = try Fixture()
    var ahead = try #require(await entry(fixture, fixture.other, signedInAt: 0))
    ahead.tombstones = [
      Tombstone(session: SessionID("earlier"), reason: .signedOut, endedAt: moment(fixture, 3600), revocation: nil)
    ]
    let vault = MemoryVault()
    _ = await vault.edit(.receive(ahead))
    let app = fixture.open(fixture.vault, earlier: [.vault(vault)])
    #expect(try await app.token().secret.count > 0)
    // Signed out here after it had begun there, as after a downgrade.
    let second = try Fixture()
    let session = try await second.signIn(second.other)
    second.clock.advance(by: .seconds(60))
    _ = try await second.signIn(second.vault)
    await second.open(second.vault).signOut()
    let moved = second.open(second.vault, earlier: [.vault(second.other)])
    await #expect(throws: SessionError.signedOut(.signedOut)) { try await moved.token() }
    #expect(await moved.waitForRevocations(timeout: .seconds(60)))
    #expect(try await !second.server.isLive(session))
  }

  private func moment(_ fixture: Fixture, _ seconds: Int64) -> Moment {
    var moment = fixture.clock.now()
    moment.wall = moment.wall.advanced(by: .seconds(seconds))
    return moment
  }

  private func entry(_ fixture: Fixture, _ vault: MemoryVault, signedInAt: Int64) async throws -> VaultEntry? {
    _ = try await fixture.signIn(vault)
    guard case .value(let entry) = await vault.read() else { return nil }
    return entry
  }

  @MainActor @Test func `with only a pending revocation is delivered from the list of accounts`() async throws {
    let fixture = try Fixture()
    let session = try await fixture.signIn(fixture.vault)
    let offline = RenamedServer(fixture.server, "https://a.example.org", isOffline: true)
    await SessionController(backend: offline, vault: fixture.vault, policy: Self.policy, clock: fixture.clock).signOut()
    #expect(try await fixture.server.isLive(session))
    let (store, vaults) = (MemoryAccountsStore(), Locked<[AccountID: MemoryVault]>([:]))
    let accounts = await accounts(fixture, store, vaults, earlier: [.vault(fixture.vault)], observesChanges: true)
    #expect(accounts.accounts.isEmpty && accounts.snapshot.storageError == nil)
    try await until { try await !fixture.server.isLive(session) }
    #expect(await fixture.vault.read() == .absent)
  }

  @MainActor @Test func `stays known after its account was removed while another server is still to be told`()
    async throws
  {
    let fixture = try Fixture()
    let vault = MemoryVault()
    let (own, other) = (
      RenamedServer(fixture.server, "https://a.example.org"),
      RenamedServer(fixture.server, "https://b.example.org", isOffline: true)
    )
    let previous = SessionController(backend: other, vault: vault, policy: Self.policy, clock: fixture.clock)
    try await previous.signIn(with: try await fixture.server.signIn("ada"), by: .init(.password))
    await previous.signOut()
    let (store, id) = (MemoryAccountsStore(), AccountID("ada"))
    _ = await store.edit(.add(ListedAccount(id: id, name: "Ada", addedAt: fixture.clock.now().wall)))
    _ = await store.edit(.remove(id, isLeaving: true))
    func open(_ server: RenamedServer) async -> Accounts<Void> {
      let accounts = Accounts<Void>(store: store, clock: fixture.clock) { _ in
        SessionManager(
          backend: server, vault: vault, baseURL: base, transport: StubTransport { _ in .init(status: 200) },
          policy: Self.policy, clock: fixture.clock
        ) { _ in }
      }
      await accounts.load()
      return accounts
    }
    let stranger = await open(own)
    // It has nothing to do; if it forgot the account, it would do so by then.
    for _ in 0..<10_000 { await Task.yield() }
    #expect(stranger.snapshot.isLoaded)
    #expect(try await store.read().get().leaving == [id], "its work waits for a program of that server")
    let friend = await open(RenamedServer(fixture.server, "https://b.example.org"))
    try await until { try await store.read().get().leaving.isEmpty }
    #expect(friend.accounts.isEmpty)
  }

  @MainActor @Test func `in two earlier places ends in both when the account is removed`() async throws {
    let fixture = try Fixture()
    let (store, vaults) = (MemoryAccountsStore(), Locked<[AccountID: MemoryVault]>([:]))
    let third = MemoryVault()
    let one = try await fixture.signIn(fixture.other)
    fixture.clock.advance(by: .seconds(60))
    let two = try await fixture.signIn(third)
    let places: [EarlierPlace] = [.vault(fixture.other), .vault(third)]
    let first = await accounts(fixture, store, vaults, earlier: places, observesChanges: true)
    let ada = try #require(first.accounts.first?.id)
    _ = try await first.remove(ada)
    for session in [one, two] { try await until { try await !fixture.server.isLive(session) } }
    let next = await accounts(fixture, store, vaults, earlier: places)
    #expect(next.accounts.isEmpty)
  }

  @MainActor @Test func `is refused by the list of accounts if it does not say whose it is`() async throws {
    let fixture = try Fixture()
    var grant = try await fixture.server.signIn("ada")
    grant.profile = nil
    let old = Locked<TokenResponse?>(grant)
    let place = EarlierPlace.tokens(read: { old.withLock { $0 } }) { old.withLock { $0 = nil } }
    let accounts = await accounts(fixture, MemoryAccountsStore(), Locked([:]), earlier: [place])
    guard case .unavailable(let text)? = accounts.snapshot.storageError else { throw Unexpected() }
    #expect(text.contains("does not say whose it is") && old.withLock { $0 != nil })
  }

  /// Waits for what a task of the program does.
  private func until(_ isTrue: () async throws -> Bool) async throws {
    try await othersFirst { try await isTrue() }
  }

  @MainActor @Test func `of one session becomes an account, and the other way round`() async throws {
    let fixture = try Fixture()
    let (store, vaults) = (MemoryAccountsStore(), Locked<[AccountID: MemoryVault]>([:]))
    let session = try await fixture.signIn(fixture.vault)
    fixture.clock.advance(by: .seconds(3600))
    for _ in 0..<2 {
      let accounts = await accounts(fixture, store, vaults, earlier: [.vault(fixture.vault)])
      #expect(accounts.accounts.map(\.name) == ["ada"])
      _ = try await #require(accounts.active).controller.token()
      #expect(await fixture.vault.read() == .absent)
    }
    let accounts = await accounts(fixture, store, vaults)
    // She is the same person by a sign-in of her own.
    try await accounts.add { try await fixture.server.signIn("bob") }
    #expect(accounts.listedID(of: try await fixture.server.signIn("ada")) == accounts.activeID)
    let back = fixture.open(
      fixture.vault,
      earlier: [EarlierPlace(kind: .accounts(store, vault: { id in vaults.withLock { $0[id] ?? MemoryVault() } }))])
    _ = try await back.token()
    guard case .signedIn(let facts) = back.state else { throw Unexpected() }
    #expect(facts.id == session)
    #expect(await back.waitForRevocations(timeout: .seconds(60)))
    #expect(try await fixture.server.isLive(session))
    guard case .success(let list) = await store.read() else { throw Unexpected() }
    #expect(list.accounts.isEmpty && list.leaving.isEmpty)
  }
}

private struct Unexpected: Error {}
