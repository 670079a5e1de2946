import Handstamp
import HandstampCore
import HandstampSupport
import HandstampTesting
import HandstampVaults
import Testing

/// A vault that stops working after a number of edits, as when its program is killed there, the device is locked, or the disk is
/// full.
final class DyingVault: Vault {
  private let base: any Vault
  private let left: Locked<Int>
  private let error: VaultError

  init(_ base: any Vault, _ left: Locked<Int>, _ error: VaultError = .unavailable("dead")) {
    (self.base, self.left, self.error) = (base, left, error)
  }

  private var canRead: Bool {
    if case .full = error { true } else { left.withLock { $0 > 0 } }
  }

  @concurrent func read() async -> VaultReading { canRead ? await base.read() : .trouble(error) }

  @concurrent func edit(_ edit: VaultEdit) async -> VaultOutcome {
    let isAlive = left.withLock { left in
      left -= 1
      return left >= 0
    }
    return isAlive ? await base.edit(edit) : .failed(error)
  }

  @concurrent func lock(within limit: Duration) async throws(VaultError) -> any VaultLock {
    try await base.lock(within: limit)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The place of a session` {
  private static let policy = SessionPolicy(
    refresh: RefreshPolicy(usesTimer: false), retry: RetryPolicy(attempts: 1, base: .zero))

  private struct Rig {
    let clock = ManualClock()
    let server: TestServer
    let vault = MemoryVault()
    let other = MemoryVault()

    init(_ issuer: String = "https://a.example.org") throws { server = try TestServer(clock: clock, issuer: issuer) }

    func open(_ vault: any Vault, at server: TestServer? = nil, formerly: [FormerPlace] = []) -> SessionController {
      SessionController(
        backend: server ?? self.server, vault: vault, formerly: formerly, policy: policy, clock: clock)
    }

    func signIn(_ vault: any Vault, as name: String = "ada") async throws -> SessionID {
      try await open(vault).signIn { try await server.signIn(name) }.session
    }
  }

  @Test func `is checked for its server, which no other one gets a token of`() async throws {
    let rig = try Rig()
    let session = try await rig.signIn(rig.vault)
    let stranger = try TestServer(clock: rig.clock, issuer: "https://b.example.org")
    rig.clock.advance(by: .seconds(3600))
    let wrong = SessionError.storage(.otherServer("https://a.example.org"))
    let app = rig.open(rig.vault, at: stranger)
    await #expect(throws: wrong) { try await app.token() }
    var wasAsked = false
    await #expect(throws: wrong) {
      try await app.signIn {
        try await SignInTurn.take()
        wasAsked = true
        return try await stranger.signIn("ada")
      }
    }
    #expect(!wasAsked)
    await #expect(throws: wrong) { try await app.signIn(remember: false) { try await stranger.signIn("ada") } }
    #expect(await stranger.rotations == 0)
    #expect(try await rig.open(rig.vault).token().secret.count > 0)
    #expect(try await rig.server.isLive(session))
    // The user signs out all the same; the session's own server is told by its own program.
    #expect(await app.signOut().storageError == nil)
    _ = try await rig.open(rig.vault, at: stranger).signIn { try await stranger.signIn("ada") }
    #expect(await rig.open(rig.vault, at: stranger).waitForRevocations(timeout: .seconds(60)))
    #expect(try await rig.server.isLive(session))
    await rig.open(rig.vault, at: stranger).signOut()
    #expect(await rig.open(rig.vault).waitForRevocations(timeout: .seconds(60)))
    #expect(try await !rig.server.isLive(session))
  }

  @Test func `goes on at a server that says by which URL it was known`() async throws {
    let rig = try Rig()
    let session = try await rig.signIn(rig.vault)
    guard case .value(let entry) = await rig.vault.read() else { throw Unexpected() }
    let moved = SessionController(
      backend: Renamed(rig.server, "https://new.example.org"), vault: rig.vault,
      formerly: [.server("HTTPS://a.example.org/")], policy: Self.policy, clock: rig.clock)
    rig.clock.advance(by: .seconds(3600))
    _ = try await moved.token()
    #expect(try await rig.server.isLive(session))
    // From then on it is that server's, with and without the line.
    let later = SessionController(
      backend: Renamed(rig.server, "https://new.example.org"), vault: rig.vault, policy: Self.policy, clock: rig.clock)
    _ = try await later.token()
    guard case .value(let now) = await rig.vault.read() else { throw Unexpected() }
    #expect(entry.session?.issuer == "https://a.example.org" && now.session?.issuer == "https://new.example.org")
  }

  @Test func `moves with its server's former URL, and counts as one of two of the same server`() async throws {
    let rig = try Rig()
    let first = try await rig.signIn(rig.other)
    rig.clock.advance(by: .seconds(60))
    let renamed = Renamed(rig.server, "https://new.example.org")
    func open() -> SessionController {
      SessionController(
        backend: renamed, vault: rig.vault, formerly: [.server("https://a.example.org"), .vault(rig.other)],
        policy: Self.policy, clock: rig.clock)
    }
    let second = try await SessionController(
      backend: renamed, vault: rig.vault, policy: Self.policy, clock: rig.clock
    ).signIn { try await rig.server.signIn("ada") }
    let app = open()
    _ = try await app.token()
    #expect(await app.waitForRevocations(timeout: .seconds(60)))
    #expect(try await !rig.server.isLive(first))
    #expect(try await rig.server.isLive(second.session))
    #expect(await rig.other.read() == .absent)
  }

  @Test func `that an older version stored without a server becomes this server's`() async throws {
    let rig = try Rig()
    let older = try TestServer(clock: rig.clock)
    let session = try await rig.open(rig.vault, at: older).signIn { try await older.signIn("ada") }
    _ = try await rig.open(rig.vault, at: rig.server).token()
    guard case .value(let entry) = await rig.vault.read() else { throw Unexpected() }
    #expect(entry.session?.id == session.session && entry.session?.issuer == "https://a.example.org")
  }

  /// Ends the program at each edit of the move.
  @Test func `changes without a sign-out, whatever ends the program, and leaves nothing behind`() async throws {
    var wasWhole = false
    for limit in 0..<8 where !wasWhole {
      let rig = try Rig()
      let session = try await rig.signIn(rig.other)
      rig.clock.advance(by: .seconds(3600))
      let left = Locked(limit)
      let dying = rig.open(
        DyingVault(rig.vault, left), formerly: [.vault(DyingVault(rig.other, left))])
      wasWhole = (try? await dying.token()) != nil
      let next = rig.open(rig.vault, formerly: [.vault(rig.other)])
      _ = try await next.token()
      guard case .signedIn(let facts) = next.state else { throw Unexpected() }
      #expect(facts.session == session)
      #expect(await rig.other.read() == .absent)
      // And back.
      let back = rig.open(rig.other, formerly: [.vault(rig.vault)])
      _ = try await back.token()
      #expect(await rig.vault.read() == .absent)
      await back.signOut()
      #expect(await back.waitForRevocations(timeout: .seconds(60)))
      #expect(try await !rig.server.isLive(session))
      let last = rig.open(rig.vault, formerly: [.vault(rig.other)])
      await #expect(throws: SessionError.signedOut(.signedOut)) { try await last.token() }
    }
    #expect(wasWhole)
  }

  @Test func `keeps the later of two sessions, and revokes the other one`() async throws {
    for laterIsThere in [false, true] {
      let rig = try Rig()
      let first = try await rig.signIn(laterIsThere ? rig.vault : rig.other)
      rig.clock.advance(by: .seconds(60))
      let second = try await rig.signIn(laterIsThere ? rig.other : rig.vault)
      let app = rig.open(rig.vault, formerly: [.vault(rig.other)])
      _ = try await app.token()
      guard case .signedIn(let facts) = app.state else { throw Unexpected() }
      #expect(facts.session == second)
      #expect(await app.waitForRevocations(timeout: .seconds(60)))
      #expect(try await !rig.server.isLive(first))
      #expect(try await rig.server.isLive(second))
    }
  }

  @Test func `knows of an end that only the former place has seen`() async throws {
    let rig = try Rig()
    let session = try await rig.signIn(rig.vault)
    guard case .value(let entry) = await rig.vault.read() else { throw Unexpected() }
    // Half moved, then signed out by the older version.
    let former = MemoryVault(entry)
    _ = await former.edit(.endWhatever(.signedOut, at: rig.clock.now()))
    let app = rig.open(rig.vault, formerly: [.vault(former)])
    await #expect(throws: SessionError.signedOut(.signedOut)) { try await app.token() }
    #expect(await app.waitForRevocations(timeout: .seconds(60)))
    #expect(try await !rig.server.isLive(session))
  }

  @Test func `ends with a later sign-out in the former place`() async throws {
    let rig = try Rig()
    let first = try await rig.signIn(rig.vault)
    rig.clock.advance(by: .seconds(60))
    // A downgrade in between.
    let second = try await rig.signIn(rig.other, as: "ada")
    rig.clock.advance(by: .seconds(60))
    await rig.open(rig.other).signOut()
    let app = rig.open(rig.vault, formerly: [.vault(rig.other)])
    await #expect(throws: SessionError.signedOut(.signedOut)) { try await app.token() }
    #expect(await app.waitForRevocations(timeout: .seconds(60)))
    for session in [first, second] { #expect(try await !rig.server.isLive(session)) }
  }

  @Test func `takes the newer tokens of a session that an older version went on with in the middle of a move`()
    async throws
  {
    let rig = try Rig()
    let session = try await rig.signIn(rig.other)
    guard case .value(let copy) = await rig.other.read() else { throw Unexpected() }
    _ = await rig.vault.edit(.receive(copy))
    rig.clock.advance(by: .seconds(3600))
    _ = try await rig.open(rig.other).token()
    rig.clock.advance(by: .seconds(3600))
    let app = rig.open(rig.vault, formerly: [.vault(rig.other)])
    _ = try await app.token()
    #expect(await rig.other.read() == .absent)
    #expect(try await rig.server.isLive(session))
  }

  @Test func `is not used while the former one still holds the same session`() async throws {
    let rig = try Rig()
    let session = try await rig.signIn(rig.other)
    let stuck = FaultyVault(rig.other)
    await stuck.set { $0.failing = { if case .vacate = $0.plain { .permissions("read-only") } else { nil } } }
    let app = rig.open(rig.vault, formerly: [.vault(stuck)])
    await #expect(throws: SessionError.storage(.permissions("read-only"))) { try await app.token() }
    // A sign-out ends it there, too.
    #expect(await app.signOut().storageError == nil)
    #expect(await app.waitForRevocations(timeout: .seconds(60)))
    #expect(try await !rig.server.isLive(session))
    guard case .value(let entry) = await rig.other.read() else { throw Unexpected() }
    #expect(entry.session == nil)
  }

  @Test func `of a stranger is left where it is, and keeps no one from signing in`() async throws {
    let rig = try Rig()
    let stranger = try TestServer(clock: rig.clock, issuer: "https://b.example.org")
    let theirs = try await rig.open(rig.other, at: stranger).signIn { try await stranger.signIn("ada") }
    let app = rig.open(rig.vault, formerly: [.vault(rig.other)])
    await #expect(throws: SessionError.signedOut(nil)) { try await app.token() }
    try await app.signIn { try await rig.server.signIn("ada") }
    #expect(await app.signOut().storageError == nil)
    guard case .value(let entry) = await rig.other.read() else { throw Unexpected() }
    #expect(entry.session?.id == theirs.session)
    #expect(try await stranger.isLive(theirs.session))
  }

  @Test func `takes an app's refresh token without an access token, and leaves tokens of no use alone`() async throws {
    for (access, refresh, isUsable) in [("", nil, true), ("two words", nil, true), ("", "two words", false)]
      as [(String, String?, Bool)]
    {
      let rig = try Rig()
      var grant = try await rig.server.signIn("ada")
      grant.tokens.credential = .accessToken(AccessToken(access))
      if let refresh { grant.tokens.refresh = RefreshToken(refresh) }
      let old = Locked<TokenResponse?>(grant)
      let app = rig.open(
        rig.vault, formerly: [.tokens(read: { old.withLock { $0 } }) { old.withLock { $0 = nil } }])
      #expect(((try? await app.token()) != nil) == isUsable)
      #expect((old.withLock { $0 } == nil) == isUsable)
      // The user can sign in all the same.
      try await app.signIn { try await rig.server.signIn("ada") }
    }
  }

  @Test func `is not known while the former one cannot be read`() async throws {
    let rig = try Rig()
    _ = try await rig.signIn(rig.other)
    let locked = FaultyVault(rig.other)
    await locked.set { $0 = .locked }
    let app = rig.open(rig.vault, formerly: [.vault(locked)])
    await #expect(throws: SessionError.storage(.locked)) { try await app.token() }
    await locked.set { $0 = .init() }
    #expect(try await app.token().secret.count > 0)
    #expect(await rig.other.read() == .absent)
  }

  @Test func `takes over an app's own tokens once, whatever ends the program`() async throws {
    for stops in 0..<4 {
      let rig = try Rig()
      let grant = try await rig.server.signIn("ada")
      let session = try #require(grant.session)
      var bare = TokenResponse(tokens: grant.tokens, profile: grant.profile)
      bare.tokens.expiresIn = .zero
      let old = Locked<TokenResponse?>(bare)
      let removals = Locked(0)
      let place = FormerPlace.tokens(read: { old.withLock { $0 } }) {
        if removals.withLock({
          $0 += 1; return $0
        }) <= (stops == 3 ? 1 : 0) {
          throw Unexpected()
        }
        old.withLock { $0 = nil }
      }
      let left = Locked(stops)
      _ = try? await rig.open(stops < 3 ? DyingVault(rig.vault, left) : rig.vault, formerly: [place]).token()
      let app = rig.open(rig.vault, formerly: [place])
      _ = try await app.token()
      #expect(old.withLock { $0 } == nil)
      #expect(try await rig.server.isLive(session))
      let report = await app.signOut()
      #expect(!report.isUnrevoked)
      #expect(await app.waitForRevocations(timeout: .seconds(60)))
      #expect(try await !rig.server.isLive(session))
      await #expect(throws: SessionError.signedOut(.signedOut)) {
        try await rig.open(rig.vault, formerly: [place]).token()
      }
    }
  }
}

extension `The place of a session` {
  private typealias Session = SessionManager<TestServer, Void>

  @MainActor private func accounts(
    _ rig: Rig, _ index: MemoryAccountsIndex, _ vaults: Locked<[AccountID: MemoryVault]>, formerly: [FormerPlace] = [],
    follows: Bool = false
  ) async -> Accounts<TestServer, Void> {
    let adopted = Locked<[AccountID: [FormerPlace]]>([:])
    let accounts = Accounts<TestServer, Void>(
      index: index, clock: rig.clock, follows: follows, formerly: formerly, adopted: adopted
    ) { account in
      let vault = vaults.withLock { vaults in
        let vault = vaults[account] ?? MemoryVault()
        vaults[account] = vault
        return vault
      }
      return Session(
        backend: rig.server, vault: vault, formerly: adopted.withLock { $0[account, default: []] }, baseURL: base,
        transport: StubTransport { _ in .init(status: 200) }, policy: Self.policy, clock: rig.clock
      ) { _ in }
    }
    await accounts.load()
    return accounts
  }

  @MainActor @Test func `of a person is refused to another one, whose session is revoked`() async throws {
    let rig = try Rig()
    let accounts = await accounts(rig, MemoryAccountsIndex(), Locked([:]))
    let ada = try await accounts.add { try await rig.server.signIn("ada") }
    let session = try #require(accounts.session(of: ada))
    let bob = try await rig.server.signIn("bob")
    await #expect(throws: SessionError.refused(code: "other_account", detail: "the tokens belong to another account")) {
      try await session.signIn { bob }
    }
    #expect(session.currentUser?.name == "ada")
    #expect(await session.controller.waitForRevocations(timeout: .seconds(60)))
    #expect(try await !rig.server.isLive(try #require(bob.session)))
    // Herself again, and him as an account of his own.
    try await session.signIn { try await rig.server.signIn("ada") }
    let other = try await accounts.add { try await rig.server.signIn("bob") }
    #expect(accounts.accounts.map(\.id) == [ada, other])
    #expect(accounts.session(of: other)?.currentUser?.name == "bob")
  }

  /// The program is ended after each edit, and the next one goes on.
  @MainActor @Test func `of the active account moves, whatever ends the program between two accounts`() async throws {
    for limit in 0..<12 {
      let rig = try Rig()
      let (index, vaults) = (MemoryAccountsIndex(), Locked<[AccountID: MemoryVault]>([:]))
      let list = await accounts(rig, index, vaults)
      try await list.add { try await rig.server.signIn("ada") }
      let session = try #require(list.active?.snapshot.session.value ?? nil).session
      rig.clock.advance(by: .seconds(60))
      try await list.add { try await rig.server.signIn("bob") }
      let left = Locked(limit)
      func place(_ left: Locked<Int>) -> FormerPlace {
        FormerPlace(
          kind: .accounts(index, vault: { id in DyingVault(vaults.withLock { $0[id] ?? MemoryVault() }, left) }))
      }
      _ = try? await rig.open(DyingVault(rig.vault, left), formerly: [place(left)]).token()
      let app = rig.open(rig.vault, formerly: [place(Locked(.max))])
      _ = try await app.token()
      guard case .signedIn(let facts) = app.state else { throw Unexpected() }
      #expect(facts.session == session && facts.profile?.name == "ada", "ended after \(limit) edits")
      #expect(await app.waitForRevocations(timeout: .seconds(60)))
      await app.signOut()
      #expect(await app.waitForRevocations(timeout: .seconds(60)))
      #expect(try await !rig.server.isLive(session))
    }
  }

  /// The first thing that the program does, before it has read its storage.
  @Test func `says at once that nothing can end it at the server`() async throws {
    for isTaken in [true, false] {
      let rig = try Rig()
      var grant = try await rig.server.signIn("ada")
      grant.revocation = nil
      let (bare, old) = (grant, Locked<TokenResponse?>(isTaken ? grant : nil))
      let server = Renamed(rig.server, "https://a.example.org")
      let place = FormerPlace.tokens(read: { old.withLock { $0 } }) { old.withLock { $0 = nil } }
      func open() -> SessionController {
        SessionController(
          backend: server, vault: rig.vault, formerly: [place], policy: Self.policy, clock: rig.clock)
      }
      if !isTaken { try await open().signIn(with: bare) }
      #expect(await open().signOut().isUnrevoked)
      rig.clock.advance(by: .seconds(1))
      #expect(await !open().signOut().isUnrevoked, "that was an earlier one")
    }
  }

  @Test func `that ended in one place is not alive in another, whose own order counts`() async throws {
    // Signed out by a clock that was an hour ahead, and in again: that is the order there.
    let rig = try Rig()
    var ahead = try #require(await entry(rig, rig.other, signedInAt: 0))
    ahead.tombstones = [
      Tombstone(session: SessionID("earlier"), reason: .signedOut, endedAt: moment(rig, 3600), revocation: nil)
    ]
    let vault = MemoryVault()
    _ = await vault.edit(.receive(ahead))
    let app = rig.open(rig.vault, formerly: [.vault(vault)])
    #expect(try await app.token().secret.count > 0)
    // Signed out here after it had begun there, as after a downgrade.
    let second = try Rig()
    let session = try await second.signIn(second.other)
    second.clock.advance(by: .seconds(60))
    _ = try await second.signIn(second.vault)
    await second.open(second.vault).signOut()
    let moved = second.open(second.vault, formerly: [.vault(second.other)])
    await #expect(throws: SessionError.signedOut(.signedOut)) { try await moved.token() }
    #expect(await moved.waitForRevocations(timeout: .seconds(60)))
    #expect(try await !second.server.isLive(session))
  }

  private func moment(_ rig: Rig, _ seconds: Int64) -> Moment {
    var moment = rig.clock.now()
    moment.wall = moment.wall.advanced(by: .seconds(seconds))
    return moment
  }

  private func entry(_ rig: Rig, _ vault: MemoryVault, signedInAt: Int64) async throws -> VaultEntry? {
    _ = try await rig.signIn(vault)
    guard case .value(let entry) = await vault.read() else { return nil }
    return entry
  }

  @MainActor @Test func `with only a pending revocation is delivered from the list of accounts`() async throws {
    let rig = try Rig()
    let session = try await rig.signIn(rig.vault)
    let offline = Renamed(rig.server, "https://a.example.org", isOffline: true)
    await SessionController(backend: offline, vault: rig.vault, policy: Self.policy, clock: rig.clock).signOut()
    #expect(try await rig.server.isLive(session))
    let (index, vaults) = (MemoryAccountsIndex(), Locked<[AccountID: MemoryVault]>([:]))
    let accounts = await accounts(rig, index, vaults, formerly: [.vault(rig.vault)], follows: true)
    #expect(accounts.accounts.isEmpty && accounts.snapshot.storageError == nil)
    try await until { try await !rig.server.isLive(session) }
    #expect(await rig.vault.read() == .absent)
  }

  @MainActor @Test func `in two former places ends in both when the account is removed`() async throws {
    let rig = try Rig()
    let (index, vaults) = (MemoryAccountsIndex(), Locked<[AccountID: MemoryVault]>([:]))
    let third = MemoryVault()
    let one = try await rig.signIn(rig.other)
    rig.clock.advance(by: .seconds(60))
    let two = try await rig.signIn(third)
    let places: [FormerPlace] = [.vault(rig.other), .vault(third)]
    let first = await accounts(rig, index, vaults, formerly: places, follows: true)
    let ada = try #require(first.accounts.first?.id)
    _ = try await first.remove(ada)
    for session in [one, two] { try await until { try await !rig.server.isLive(session) } }
    let next = await accounts(rig, index, vaults, formerly: places)
    #expect(next.accounts.isEmpty)
  }

  @MainActor @Test func `is refused by the list of accounts if it does not say whose it is`() async throws {
    let rig = try Rig()
    var grant = try await rig.server.signIn("ada")
    grant.profile = nil
    let old = Locked<TokenResponse?>(grant)
    let place = FormerPlace.tokens(read: { old.withLock { $0 } }) { old.withLock { $0 = nil } }
    let accounts = await accounts(rig, MemoryAccountsIndex(), Locked([:]), formerly: [place])
    guard case .unavailable(let text)? = accounts.snapshot.storageError else { throw Unexpected() }
    #expect(text.contains("does not say whose it is") && old.withLock { $0 != nil })
  }

  /// Waits for what a task of the program does.
  private func until(_ isTrue: () async throws -> Bool) async throws {
    for _ in 0..<100_000 {
      if try await isTrue() { return }
      await Task.yield()
    }
    throw Unexpected()
  }

  @MainActor @Test func `of one session becomes an account, and the other way round`() async throws {
    let rig = try Rig()
    let (index, vaults) = (MemoryAccountsIndex(), Locked<[AccountID: MemoryVault]>([:]))
    let session = try await rig.signIn(rig.vault)
    rig.clock.advance(by: .seconds(3600))
    for _ in 0..<2 {
      let accounts = await accounts(rig, index, vaults, formerly: [.vault(rig.vault)])
      #expect(accounts.accounts.map(\.name) == ["ada"])
      _ = try await #require(accounts.active).controller.token()
      #expect(await rig.vault.read() == .absent)
    }
    let accounts = await accounts(rig, index, vaults)
    // She is the same person by a sign-in of her own.
    try await accounts.add { try await rig.server.signIn("bob") }
    #expect(accounts.listedID(of: try await rig.server.signIn("ada")) == accounts.activeID)
    let back = rig.open(
      rig.vault,
      formerly: [FormerPlace(kind: .accounts(index, vault: { id in vaults.withLock { $0[id] ?? MemoryVault() } }))])
    _ = try await back.token()
    guard case .signedIn(let facts) = back.state else { throw Unexpected() }
    #expect(facts.session == session)
    #expect(await back.waitForRevocations(timeout: .seconds(60)))
    #expect(try await rig.server.isLive(session))
    guard case .success(let list) = await index.read() else { throw Unexpected() }
    #expect(list.accounts.isEmpty && list.leaving.isEmpty)
  }
}

private struct Unexpected: Error {}

/// The same server by another URL.
private struct Renamed: Backend {
  let server: TestServer
  let abilities: BackendAbilities
  let isOffline: Bool
  init(_ server: TestServer, _ issuer: String, isOffline: Bool = false) {
    self.server = server
    self.isOffline = isOffline
    abilities = BackendAbilities(supportsRotationKeys: true, issuer: issuer)
  }
  @concurrent func refresh(_ request: RefreshRequest) async -> RefreshResult { await server.refresh(request) }
  @concurrent func revoke(_ handle: RevocationHandle) async -> RevocationResult {
    isOffline ? .noDecision(.network(.notConnected("offline"))) : await server.revoke(handle)
  }
}
