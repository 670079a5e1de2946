import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

/// A vault that stops working after a number of writes, as when its program is killed there, the device is locked, or the disk is
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

  @concurrent func load() async -> VaultReading { canRead ? await base.load() : .trouble(error) }

  @concurrent func replace(
    _ revision: UInt64, with entry: VaultEntry, as write: VaultWrite
  ) async throws(VaultError) -> VaultReplacement {
    let isAlive = left.withLock { left in
      left -= 1
      return left >= 0
    }
    guard isAlive else { throw error }
    return try await base.replace(revision, with: entry, as: write)
  }

  @concurrent func lock(_ kind: VaultLockKind, within limit: Duration) async throws(VaultError) -> any VaultLock {
    try await base.lock(kind, within: limit)
  }

  func changes() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
}

@Suite(.timeLimit(.minutes(10))) struct `The place of a session` {
  static let policy = SessionPolicy(
    refresh: RefreshPolicy(usesTimer: false), retry: RetryPolicy(attempts: 1, base: .zero))

  struct Fixture {
    let clock = ManualClock()
    let server: TestServer
    let vault = MemoryVault()
    let other = MemoryVault()

    init(_ issuer: String = "https://a.example.org") throws { server = try TestServer(clock: clock, issuer: issuer) }

    func open(_ vault: any Vault, at server: TestServer? = nil, earlier: [EarlierPlace] = []) -> SessionController {
      SessionController(
        backend: server ?? self.server, vault: vault, earlier: earlier, policy: policy, clock: clock)
    }

    func signIn(_ vault: any Vault, as name: String = "ada") async throws -> SessionID {
      try await open(vault).signIn { try await server.signIn(name) }.id
    }
  }

  @Test func `begins in the audit log where a session moved to`() async throws {
    let fixture = try Fixture()
    let id = try await fixture.signIn(fixture.other)
    let log = ListAuditLog()
    let session = SessionController(
      backend: fixture.server, vault: fixture.vault, earlier: [.vault(fixture.other)], policy: Self.policy,
      clock: fixture.clock, audit: log)
    #expect(await first(session.states) { $0.isSignedIn } != nil)
    await session.flushAuditLog()
    #expect(log.entries.map(\.action) == [.signIn(.moved), .restore])
    #expect(log.entries.allSatisfy { $0.session == id && $0.account != nil && $0.outcome == "ok" })
    // The next launch only restores it.
    let later = SessionController(
      backend: fixture.server, vault: fixture.vault, earlier: [.vault(fixture.other)], policy: Self.policy,
      clock: fixture.clock, audit: log)
    #expect(await first(later.states) { $0.isSignedIn } != nil)
    await later.flushAuditLog()
    #expect(log.entries.map(\.action) == [.signIn(.moved), .restore, .restore])
  }

  @Test(arguments: [true, false])
  func `begins in the audit log once where an app's own tokens were taken over`(canRemove: Bool) async throws {
    let fixture = try Fixture()
    let tokens = try await fixture.server.signIn("ada")
    let log = ListAuditLog()
    for launch in 1...2 {
      let session = SessionController(
        backend: fixture.server, vault: fixture.vault,
        earlier: [
          .tokens(read: { canRemove && launch > 1 ? nil : tokens }) { if !canRemove { throw CancellationError() } }
        ], policy: Self.policy, clock: fixture.clock, audit: log)
      #expect(await first(session.states) { $0.isSignedIn } != nil)
      await session.flushAuditLog()
    }
    #expect(log.entries.map(\.action) == [.signIn(.moved), .restore, .restore])
  }

  @Test func `is checked for its server, which no other one gets a token of`() async throws {
    let fixture = try Fixture()
    let session = try await fixture.signIn(fixture.vault)
    let stranger = try TestServer(clock: fixture.clock, issuer: "https://b.example.org")
    fixture.clock.advance(by: .seconds(3600))
    let wrong = SessionError.storage(.otherServer("https://a.example.org"))
    let app = fixture.open(fixture.vault, at: stranger)
    await #expect(throws: wrong) { try await app.token() }
    var wasAsked = false
    await #expect(throws: wrong) {
      try await app.signIn {
        try await SignInTurn.take(by: .password)
        wasAsked = true
        return try await stranger.signIn("ada")
      }
    }
    #expect(!wasAsked)
    await #expect(throws: wrong) { try await app.signIn(remember: false) { try await stranger.signIn("ada") } }
    #expect(await stranger.rotations == 0)
    #expect(try await fixture.open(fixture.vault).token().secret.count > 0)
    #expect(try await fixture.server.isLive(session))
    // The user signs out all the same; the session's own server is told by its own program.
    #expect(await app.signOut().storageError == nil)
    _ = try await fixture.open(fixture.vault, at: stranger).signIn { try await stranger.signIn("ada") }
    #expect(await fixture.open(fixture.vault, at: stranger).waitForRevocations(timeout: .seconds(60)))
    #expect(try await fixture.server.isLive(session))
    await fixture.open(fixture.vault, at: stranger).signOut()
    #expect(await fixture.open(fixture.vault).waitForRevocations(timeout: .seconds(60)))
    #expect(try await !fixture.server.isLive(session))
  }

  @Test func `goes on at a server that says by which URL it was known`() async throws {
    let fixture = try Fixture()
    let session = try await fixture.signIn(fixture.vault)
    guard case .value(let entry) = await fixture.vault.read() else { throw Unexpected() }
    let moved = SessionController(
      backend: RenamedServer(fixture.server, "https://new.example.org"), vault: fixture.vault,
      earlier: [.server("HTTPS://a.example.org/")], policy: Self.policy, clock: fixture.clock)
    fixture.clock.advance(by: .seconds(3600))
    _ = try await moved.token()
    #expect(try await fixture.server.isLive(session))
    // From then on it is that server's, with and without the line.
    let later = SessionController(
      backend: RenamedServer(fixture.server, "https://new.example.org"), vault: fixture.vault, policy: Self.policy,
      clock: fixture.clock)
    _ = try await later.token()
    guard case .value(let now) = await fixture.vault.read() else { throw Unexpected() }
    #expect(entry.session?.issuer == "https://a.example.org" && now.session?.issuer == "https://new.example.org")
  }

  /// Each program knows the server by both names.
  @Test func `makes room for a new sign-in under whichever name of the server it was begun`() async throws {
    let fixture = try Fixture()
    func open(_ name: String, earlier: String) -> SessionController {
      SessionController(
        backend: RenamedServer(fixture.server, name), vault: fixture.vault, earlier: [.server(earlier)],
        policy: Self.policy, clock: fixture.clock)
    }
    let (old, new) = ("https://a.example.org", "https://new.example.org")
    let (second, app) = (open(old, earlier: new), open(new, earlier: old))
    for program in [second, app, second, app] {
      let id = try await program.signIn { try await fixture.server.signIn("ada") }.id
      guard case .value(let entry) = await fixture.vault.read() else { throw Unexpected() }
      #expect(entry.session?.id == id)
    }
  }

  @Test func `moves with its server's earlier URL, and counts as one of two of the same server`() async throws {
    let fixture = try Fixture()
    let first = try await fixture.signIn(fixture.other)
    fixture.clock.advance(by: .seconds(60))
    let renamed = RenamedServer(fixture.server, "https://new.example.org")
    func open() -> SessionController {
      SessionController(
        backend: renamed, vault: fixture.vault, earlier: [.server("https://a.example.org"), .vault(fixture.other)],
        policy: Self.policy, clock: fixture.clock)
    }
    let second = try await SessionController(
      backend: renamed, vault: fixture.vault, policy: Self.policy, clock: fixture.clock
    ).signIn { try await fixture.server.signIn("ada") }
    let app = open()
    _ = try await app.token()
    #expect(await app.waitForRevocations(timeout: .seconds(60)))
    #expect(try await !fixture.server.isLive(first))
    #expect(try await fixture.server.isLive(second.id))
    #expect(await fixture.other.read() == .absent)
  }

  @Test func `that a backend without a server's name began becomes this server's`() async throws {
    let fixture = try Fixture()
    let nameless = try TestServer(clock: fixture.clock)
    let session = try await fixture.open(fixture.vault, at: nameless).signIn { try await nameless.signIn("ada") }
    _ = try await fixture.open(fixture.vault, at: fixture.server).token()
    guard case .value(let entry) = await fixture.vault.read() else { throw Unexpected() }
    #expect(entry.session?.id == session.id && entry.session?.issuer == "https://a.example.org")
  }

  /// Ends the program at each edit of the move.
  @Test func `changes without a sign-out, whatever ends the program, and leaves nothing behind`() async throws {
    var wasWhole = false
    for limit in 0..<8 where !wasWhole {
      let fixture = try Fixture()
      let session = try await fixture.signIn(fixture.other)
      fixture.clock.advance(by: .seconds(3600))
      let left = Locked(limit)
      let dying = fixture.open(
        DyingVault(fixture.vault, left), earlier: [.vault(DyingVault(fixture.other, left))])
      wasWhole = (try? await dying.token()) != nil
      let next = fixture.open(fixture.vault, earlier: [.vault(fixture.other)])
      _ = try await next.token()
      guard case .signedIn(let facts) = next.state else { throw Unexpected() }
      #expect(facts.id == session)
      #expect(await fixture.other.read() == .absent)
      // And back.
      let back = fixture.open(fixture.other, earlier: [.vault(fixture.vault)])
      _ = try await back.token()
      #expect(await fixture.vault.read() == .absent)
      await back.signOut()
      #expect(await back.waitForRevocations(timeout: .seconds(60)))
      #expect(try await !fixture.server.isLive(session))
      let last = fixture.open(fixture.vault, earlier: [.vault(fixture.other)])
      await #expect(throws: SessionError.signedOut(.signedOut)) { try await last.token() }
    }
    #expect(wasWhole)
  }

  @Test func `keeps the later of two sessions, and revokes the other one`() async throws {
    for laterIsThere in [false, true] {
      let fixture = try Fixture()
      let first = try await fixture.signIn(laterIsThere ? fixture.vault : fixture.other)
      fixture.clock.advance(by: .seconds(60))
      let second = try await fixture.signIn(laterIsThere ? fixture.other : fixture.vault)
      let app = fixture.open(fixture.vault, earlier: [.vault(fixture.other)])
      _ = try await app.token()
      guard case .signedIn(let facts) = app.state else { throw Unexpected() }
      #expect(facts.id == second)
      #expect(await app.waitForRevocations(timeout: .seconds(60)))
      #expect(try await !fixture.server.isLive(first))
      #expect(try await fixture.server.isLive(second))
    }
  }

  @Test func `knows of an end that only the earlier place has seen`() async throws {
    let fixture = try Fixture()
    let session = try await fixture.signIn(fixture.vault)
    guard case .value(let entry) = await fixture.vault.read() else { throw Unexpected() }
    // Half moved, then signed out by the older version.
    let previous = MemoryVault(entry)
    _ = await previous.edit(.signOut(.signedOut, at: fixture.clock.now()))
    let app = fixture.open(fixture.vault, earlier: [.vault(previous)])
    await #expect(throws: SessionError.signedOut(.signedOut)) { try await app.token() }
    #expect(await app.waitForRevocations(timeout: .seconds(60)))
    #expect(try await !fixture.server.isLive(session))
  }

  @Test func `ends with a later sign-out in the earlier place`() async throws {
    let fixture = try Fixture()
    let first = try await fixture.signIn(fixture.vault)
    fixture.clock.advance(by: .seconds(60))
    // A downgrade in between.
    let second = try await fixture.signIn(fixture.other, as: "ada")
    fixture.clock.advance(by: .seconds(60))
    await fixture.open(fixture.other).signOut()
    let app = fixture.open(fixture.vault, earlier: [.vault(fixture.other)])
    await #expect(throws: SessionError.signedOut(.signedOut)) { try await app.token() }
    #expect(await app.waitForRevocations(timeout: .seconds(60)))
    for session in [first, second] { #expect(try await !fixture.server.isLive(session)) }
  }

  @Test func `takes the newer tokens of a session that an older version went on with in the middle of a move`()
    async throws
  {
    let fixture = try Fixture()
    let session = try await fixture.signIn(fixture.other)
    guard case .value(let copy) = await fixture.other.read() else { throw Unexpected() }
    _ = await fixture.vault.edit(.receive(copy))
    fixture.clock.advance(by: .seconds(3600))
    _ = try await fixture.open(fixture.other).token()
    fixture.clock.advance(by: .seconds(3600))
    let app = fixture.open(fixture.vault, earlier: [.vault(fixture.other)])
    _ = try await app.token()
    #expect(await fixture.other.read() == .absent)
    #expect(try await fixture.server.isLive(session))
  }

  @Test func `is not used while the earlier one still holds the same session`() async throws {
    let fixture = try Fixture()
    let session = try await fixture.signIn(fixture.other)
    let stuck = FaultyVault(fixture.other)
    await stuck.set { $0.failing = { $1 == .response && $0.isEmpty ? .permissions("read-only") : nil } }
    let app = fixture.open(fixture.vault, earlier: [.vault(stuck)])
    await #expect(throws: SessionError.storage(.permissions("read-only"))) { try await app.token() }
    // A sign-out ends it there, too.
    #expect(await app.signOut().storageError == nil)
    #expect(await app.waitForRevocations(timeout: .seconds(60)))
    #expect(try await !fixture.server.isLive(session))
    guard case .value(let entry) = await fixture.other.read() else { throw Unexpected() }
    #expect(entry.session == nil)
  }

  @Test func `of a stranger is left where it is, and keeps no one from signing in`() async throws {
    let fixture = try Fixture()
    let stranger = try TestServer(clock: fixture.clock, issuer: "https://b.example.org")
    let theirs = try await fixture.open(fixture.other, at: stranger).signIn { try await stranger.signIn("ada") }
    let app = fixture.open(fixture.vault, earlier: [.vault(fixture.other)])
    await #expect(throws: SessionError.signedOut(nil)) { try await app.token() }
    try await app.signIn { try await fixture.server.signIn("ada") }
    #expect(await app.signOut().storageError == nil)
    guard case .value(let entry) = await fixture.other.read() else { throw Unexpected() }
    #expect(entry.session?.id == theirs.id)
    #expect(try await stranger.isLive(theirs.id))
  }

  @Test func `takes an app's refresh token without an access token, and leaves tokens of no use alone`() async throws {
    for (access, refresh, isUsable) in [("", nil, true), ("two words", nil, true), ("", "two words", false)]
      as [(String, String?, Bool)]
    {
      let fixture = try Fixture()
      var grant = try await fixture.server.signIn("ada")
      grant.tokens.credential = .accessToken(AccessToken(access))
      if let refresh { grant.tokens.refresh = RefreshToken(refresh) }
      let old = Locked<TokenResponse?>(grant)
      let app = fixture.open(
        fixture.vault, earlier: [.tokens(read: { old.withLock { $0 } }) { old.withLock { $0 = nil } }])
      #expect(((try? await app.token()) != nil) == isUsable)
      #expect((old.withLock { $0 } == nil) == isUsable)
      // The user can sign in all the same.
      try await app.signIn { try await fixture.server.signIn("ada") }
    }
  }

  @Test func `is not known while the earlier one cannot be read`() async throws {
    let fixture = try Fixture()
    _ = try await fixture.signIn(fixture.other)
    let locked = FaultyVault(fixture.other)
    await locked.set { $0 = .locked }
    let app = fixture.open(fixture.vault, earlier: [.vault(locked)])
    await #expect(throws: SessionError.storage(.locked)) { try await app.token() }
    await locked.set { $0 = .init() }
    #expect(try await app.token().secret.count > 0)
    #expect(await fixture.other.read() == .absent)
  }

  @Test func `takes over an app's own tokens once, whatever ends the program`() async throws {
    for stops in 0..<4 {
      let fixture = try Fixture()
      let grant = try await fixture.server.signIn("ada")
      let session = try #require(grant.sessionID)
      var bare = TokenResponse(tokens: grant.tokens, profile: grant.profile)
      bare.tokens.expiresIn = .zero
      let old = Locked<TokenResponse?>(bare)
      let removals = Locked(0)
      let place = EarlierPlace.tokens(read: { old.withLock { $0 } }) {
        if removals.withLock({
          $0 += 1; return $0
        }) <= (stops == 3 ? 1 : 0) {
          throw Unexpected()
        }
        old.withLock { $0 = nil }
      }
      let left = Locked(stops)
      _ = try? await fixture.open(stops < 3 ? DyingVault(fixture.vault, left) : fixture.vault, earlier: [place])
        .token()
      let app = fixture.open(fixture.vault, earlier: [place])
      _ = try await app.token()
      #expect(old.withLock { $0 } == nil)
      #expect(try await fixture.server.isLive(session))
      let report = await app.signOut()
      #expect(!report.isUnrevoked)
      #expect(await app.waitForRevocations(timeout: .seconds(60)))
      #expect(try await !fixture.server.isLive(session))
      await #expect(throws: SessionError.signedOut(.signedOut)) {
        try await fixture.open(fixture.vault, earlier: [place]).token()
      }
    }
  }
}

private struct Unexpected: Error {}

/// The same server by another URL.
struct RenamedServer: Backend {
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
