import HandstampCore
import HandstampTesting
import Testing

@testable import HandstampRegistry

private let issuer = "https://up.example"
private let adaThere = ExternalIdentity(issuer: issuer, subject: "ada")

extension World {
  /// Signs in by a provider.
  fileprivate func signInThere(
    _ device: String = "phone", as identity: ExternalIdentity = adaThere, sid: String? = "s1",
    at proven: UnixTime? = start, asked: UnixTime? = nil, now: UnixTime = start
  ) async throws -> NewSession {
    let account = try await registry.account(self.ada.id)
    var use = CredentialUse(account: try #require(account), way: .provider, methods: [.federated], changes: [])
    use.upstream = UpstreamSession(identity: identity, sid: sid, authenticatedAt: proven)
    use.upstream?.askedAt = asked
    let device = DeviceInfo(id: DeviceID(device), name: device, platform: "linux")
    return try await registry.createSession(by: use, SessionStart(device: device), now: now)
  }

  fileprivate func end(
    _ change: UpstreamEnd.Change = .ended, of subject: String? = "ada", sid: String? = nil, at: UnixTime = start,
    event: String = "e1", by issuer: String = issuer, now: UnixTime = start
  ) async throws -> [SessionID]? {
    let end = UpstreamEnd(
      issuer: issuer, subject: subject, sid: sid, change: change, at: at, event: event, provider: "Up")
    switch try await registry.endSessions(upstream: end, now: now) {
    case .applied(let outcome): return outcome.map(\.id)
    case .repeated: return nil
    }
  }

  fileprivate func reason(_ new: NewSession) async throws -> EndReason? {
    try await store.session(new.row.id)?.end?.reason
  }
}

@Suite(.timeLimit(.minutes(10))) struct `An end at a provider` {
  @Test func `ends the session that began by it, with a reason of its own, and no other`() async throws {
    let world = try await World()
    let (one, two) = (try await world.signInThere(), try await world.signInThere("laptop", sid: "s2"))
    let other = try await world.signInThere("tablet", as: ExternalIdentity(issuer: issuer, subject: "eve"), sid: "s3")
    let local = try await world.registry.createSession(
      by: .password(of: world.ada), SessionStart(device: DeviceInfo(id: DeviceID("tv"), name: "tv", platform: "linux")),
      now: start)
    #expect(try await world.end(sid: "s1") == [one.row.id])
    #expect(try await world.reason(one) == .endedAtProvider())
    for new in [two, other, local] { #expect(try await world.reason(new) == nil) }
    // The owner reads where it ended.
    let log = try await world.registry.store.latestAuditedActions(about: world.ada.id, before: nil, limit: 9)
    let entry = try #require(log.first { $0.audited.action == "session.ended_at_provider" })
    #expect(entry.audited.session == one.row.id && entry.audited.details == #"{"name":"Up"}"#)
  }

  @Test func `is named to the device, also after the user has signed in again`() async throws {
    let world = try await World()
    let (one, two) = (try await world.signInThere(), try await world.signInThere("laptop", sid: "s2"))
    let registry = world.registry
    _ = try await world.end(sid: "s1")
    _ = try await registry.end(two.row.id, of: two.account.id, now: start)
    _ = try await world.signInThere(sid: "s3", at: after(.seconds(9)), now: after(.seconds(9)))
    let now = after(.seconds(10))
    func reason(_ new: NewSession) async throws -> SessionStatus {
      try await registry.status(of: new.row.id, account: world.ada.id, now: now)
    }
    #expect(try await reason(one) == .ended(.endedAtProvider("Up")))
    #expect(try await reason(two) == .ended(.revoked))
    let refused = try await registry.refresh(world.token(of: one), key: key(1), now: now)
    #expect(refused == .ended(.endedAtProvider("Up")))
    let told = try await registry.events(after: .zero).filter { $0.event.session == one.row.id }.last
    #expect(told?.event.reason == .endedAtProvider("Up"))
    let bare = try await registry.bareEvents(after: .zero, limit: 256).filter { $0.event.session == one.row.id }.last
    #expect(bare?.event.reason == .endedAtProvider())
  }

  @Test func `is named for as long as the session is kept`() async throws {
    let world = try await World(
      limits: RegistryLimits(
        absoluteLimit: .seconds(90 * 86_400), idleLimit: .seconds(60 * 86_400), retention: .seconds(30 * 86_400)))
    let one = try await world.signInThere()
    _ = try await world.end(sid: "s1")
    let late = after(.seconds(45 * 86_400))
    _ = try await world.registry.prune(now: late)
    let refused = try await world.registry.refresh(world.token(of: one), key: key(1), now: late)
    #expect(refused == .ended(.endedAtProvider("Up")))
    let over = after(.seconds(61 * 86_400))
    _ = try await world.registry.prune(now: over)
    #expect(try await world.registry.item(StoredItemID(.upstreamEvent, one.row.id.rawValue)) == nil)
  }

  @Test func `of all of a user's sessions ends all that began by them, also without a sid`() async throws {
    let world = try await World()
    let (one, two) = (try await world.signInThere(), try await world.signInThere("laptop", sid: nil))
    let ended = try #require(try await world.end())
    #expect(Set(ended) == [one.row.id, two.row.id])
  }

  @Test func `of a session ends one that named none, but not another user's`() async throws {
    let world = try await World()
    let (one, two) = (try await world.signInThere(sid: "s2"), try await world.signInThere("laptop", sid: nil))
    let eve = try await world.signInThere("tablet", as: ExternalIdentity(issuer: issuer, subject: "eve"), sid: "s1")
    #expect(try await world.end(sid: "s1") == [two.row.id])
    #expect(try await world.reason(one) == nil)
    #expect(try await world.reason(eve) == nil)
    // Without a user, the session alone decides.
    #expect(try await world.end(of: nil, sid: "s1", event: "e2") == [eve.row.id])
  }

  @Test func `at another issuer ends nothing`() async throws {
    let world = try await World()
    let one = try await world.signInThere()
    #expect(try await world.end(sid: "s1", by: "https://other.example") == [])
    #expect(try await world.end(event: "e2", by: "https://other.example") == [])
    #expect(try await world.reason(one) == nil)
  }

  @Test func `has no effect a second time`() async throws {
    let world = try await World()
    _ = try await world.signInThere()
    #expect(try await world.end()?.count == 1)
    let later = after(.seconds(60))
    let new = try await world.signInThere(at: later, now: later)
    #expect(try await world.end(now: later) == nil)
    #expect(try await world.reason(new) == nil)
  }

  @Test func `that could not be stored is applied when it comes again`() async throws {
    let store = FailingStore()
    let world = try await World(store: store)
    let one = try await world.signInThere()
    store.fail(.unavailable("full"))
    await #expect(throws: RegistryError.unavailable("full")) { try await world.end() }
    store.fail(nil)
    #expect(try await world.end() == [one.row.id])
  }

  @Test func `ends the browser, its clients, and those that were allowed in it`() async throws {
    let world = try await World()
    let registry = world.registry
    var use = CredentialUse(account: world.ada, way: .provider, methods: [.federated], changes: [])
    use.upstream = UpstreamSession(identity: adaThere, sid: "s1", authenticatedAt: start)
    let browser = try await registry.beginBrowserSession(
      by: use, on: DeviceInfo(id: DeviceID("b"), name: "b", platform: "web"), now: start)
    let user = try #require(try await registry.browserSession(browser.cookie, now: start))
    func client(_ scope: String) async throws -> SessionID {
      let grant = CodeGrant(
        client: "c", clientName: "C", redirectURI: "https://c.example/cb", challenge: nil, scope: scope)
      let code = try await registry.issueCode(grant, by: user, now: start)
      let claim = CodeClaim(client: "c", redirectURI: "https://c.example/cb", verifier: nil)
      guard case .signedIn(let new, _) = try await registry.redeemCode(code.secret, claim, now: start) else {
        throw RegistryError.notFound
      }
      return new.row.id
    }
    let (bound, lasting) = (try await client("openid"), try await client("openid offline_access"))
    // Back-Channel Logout 1.0 section 2.7: offline access outlasts a logout, but not the end of all sessions.
    #expect(Set(try #require(try await world.end(sid: "s1"))) == [user.row.id, bound])
    #expect(try await registry.browserSession(browser.cookie, now: start) == nil)
    #expect(try await world.end(event: "e2") == [lasting])
  }

  @Test func `of the session there that a browser has signed in with again ends it, of the previous one no longer`()
    async throws
  {
    let world = try await World()
    let registry = world.registry
    var use = CredentialUse(account: world.ada, way: .provider, methods: [.federated], changes: [])
    use.upstream = UpstreamSession(identity: adaThere, sid: "s1", authenticatedAt: start)
    let browser = try await registry.beginBrowserSession(
      by: use, on: DeviceInfo(id: DeviceID("b"), name: "b", platform: "web"), now: start)
    // The provider has not asked for anything in the last half minute.
    use.authenticatedAt = after(.seconds(30))
    use.upstream = UpstreamSession(identity: adaThere, sid: "s2", authenticatedAt: use.authenticatedAt)
    let again = try await registry.reauthenticate(browser, by: use, now: after(.seconds(60)))
    #expect(again.authenticatedAt == after(.seconds(30)))
    #expect(try await world.end(sid: "s1", at: after(.seconds(60)), now: after(.seconds(60))) == [])
    let ended = try await world.end(sid: "s2", at: after(.seconds(60)), event: "e2", now: after(.seconds(60)))
    #expect(ended == [browser.row.id])
  }

  @Test func `stops proofs by it in sessions that do not depend on it`() async throws {
    let world = try await World()
    let registry = world.registry
    let browser = try await registry.beginBrowserSession(
      by: .password(of: world.ada), on: DeviceInfo(id: DeviceID("b"), name: "b", platform: "web"), now: start)
    var use = CredentialUse(account: world.ada, way: .provider, methods: [.federated], changes: [])
    use.upstream = UpstreamSession(identity: adaThere, sid: "s1", authenticatedAt: start)
    let proven = try await registry.reauthenticate(browser, by: use, now: start)
    #expect(try await world.end(.disabled) == [])
    await #expect(throws: RegistryError.upstreamEnded) {
      try await registry.reauthenticate(proven, by: use, now: start)
    }
    await #expect(throws: RegistryError.upstreamEnded) { try await registry.commit(use, now: start) }
  }

  @Test(arguments: UpstreamEnd.Change.allCases) func `decides about later sign-ins`(change: UpstreamEnd.Change)
    async throws
  {
    let world = try await World()
    let one = try await world.signInThere()
    _ = try await world.end(change, at: after(.seconds(10)), now: after(.seconds(10)))
    let endsSessions = [.ended, .disabled, .purged].contains(change)
    #expect(try await world.reason(one) == (endsSessions ? .endedAtProvider() : nil))
    let now = after(.seconds(20))
    /// Whether a sign-in that was at the provider at that time begins a session.
    func begins(_ proven: UnixTime?, now: UnixTime) async throws -> Bool {
      do {
        _ = try await world.signInThere("laptop", sid: "s9", at: proven, now: now)
        return true
      } catch RegistryError.upstreamEnded { return false }
    }
    let older = try await begins(after(.seconds(10)), now: now)
    let newer = try await begins(after(.seconds(11)), now: now)
    let unsure = try await begins(nil, now: now)
    switch change {
    case .ended, .credential: #expect([older, newer, unsure] == [false, true, false])
    case .disabled, .purged: #expect([older, newer, unsure] == [false, false, false])
    case .enabled: #expect([older, newer, unsure] == [true, true, true])
    }
    // A year later, only the state counts.
    let year = after(.seconds(365 * 86_400))
    #expect(try await begins(year, now: year) == ![.disabled, .purged].contains(change))
  }

  /// The ID token has no `auth_time`, or that of a session there that goes on.
  @Test(arguments: [nil, start, after(.seconds(-3600))] as [UnixTime?])
  func `lets a browser in that was sent there to sign in anew after it`(proven: UnixTime?) async throws {
    let world = try await World()
    // The provider's clock is ahead.
    _ = try await world.end(at: after(.seconds(50)), now: after(.seconds(10)))
    func begins(asked: UnixTime?) async throws -> Bool {
      do {
        _ = try await world.signInThere(at: proven, asked: asked, now: after(.seconds(20)))
        return true
      } catch RegistryError.upstreamEnded { return false }
    }
    #expect(try await !begins(asked: nil))
    #expect(try await !begins(asked: after(.seconds(10))), "it may have been answered before the end")
    #expect(try await begins(asked: after(.milliseconds(10_001))))
    _ = try await world.end(.disabled, at: after(.seconds(12)), event: "e2", now: after(.seconds(12)))
    #expect(try await !begins(asked: after(.seconds(13))))
  }

  @Test func `by a session is final for that session`() async throws {
    let world = try await World()
    #expect(try await world.end(sid: "s1") == [])
    let late = after(.seconds(60))
    for asked in [nil, late] {
      await #expect(throws: RegistryError.upstreamEnded) {
        try await world.signInThere(at: late, asked: asked, now: late)
      }
    }
    _ = try await world.signInThere(sid: "s2")
  }

  @Test func `of an account is undone by enabling it, whatever comes late`() async throws {
    let world = try await World()
    _ = try await world.end(.disabled, at: after(.seconds(10)), event: "e1")
    _ = try await world.end(.enabled, at: after(.seconds(30)), event: "e2")
    _ = try await world.end(.disabled, at: after(.seconds(20)), event: "e3")
    _ = try await world.signInThere(at: after(.seconds(40)), now: after(.seconds(40)))
  }

  /// The sign-in reads before the end is announced, and writes after it.
  @Test func `that was stored by a later version stops every sign-in, and the next ends sessions all the same`()
    async throws
  {
    let world = try await World()
    let one = try await world.signInThere()
    var mark = try #require(try await world.registry.item(UpstreamKey(user: adaThere).markID))
    mark.payload = "later"
    try await world.store.write([.putItem(mark)], events: [])
    func expectRefusal() async {
      await #expect(throws: RegistryError.unavailable("an end at a provider was stored by a later version")) {
        try await world.signInThere("laptop", at: after(.seconds(9)), now: after(.seconds(9)))
      }
    }
    await expectRefusal()
    #expect(try await world.end() == [one.row.id])
    await expectRefusal()
  }

  @Test func `stops a sign-in that is under way`() async throws {
    let world = try await World()
    let upstream = UpstreamSession(identity: adaThere, sid: "s1", authenticatedAt: start)
    let expectations = try await world.registry.expectations(of: upstream, now: start)
    _ = try await world.end(sid: "s1")
    await #expect(throws: RegistryStoreError.alreadyExists) {
      try await world.registry.store.write(expectations, events: [])
    }
    // The same with a user of whom an earlier sign-in is known.
    _ = try await world.signInThere("laptop", sid: "s2")
    let known = UpstreamSession(identity: adaThere, sid: nil, authenticatedAt: after(.seconds(1)))
    let others = try await world.registry.expectations(of: known, now: start)
    _ = try await world.end(at: after(.seconds(2)), event: "e2")
    await #expect(throws: RegistryStoreError.conflict) {
      try await world.registry.store.write(others, events: [])
    }
  }

  /// A new account, of whose user an earlier sign-in is known, as after a deletion of the account here.
  @Test func `leaves room for sign-ins of one user at once, also the first`() async throws {
    let world = try await World()
    let eve = ExternalIdentity(issuer: issuer, subject: "eve")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<4 {
        group.addTask { _ = try await world.signInThere("d\(number)", as: eve, sid: "s\(number)") }
      }
      try await group.waitForAll()
    }
    let proof = IdentityProof(eve, provider: "up", label: "")
    let use = world.registry.credentialUse(opening: proof, email: nil, username: "Eve", now: start)
    let device = DeviceInfo(id: DeviceID("new"), name: "new", platform: "linux")
    _ = try await world.registry.createSession(by: use, SessionStart(device: device), now: start)
    #expect(try await world.registry.store.items(.upstreamSession, subject: UpstreamKey(user: eve).text).count == 5)
  }

  @Test func `and many sign-ins at once leave no session that outlives it`() async throws {
    let world = try await World()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask { _ = try? await world.signInThere("d\(number)", sid: "s\(number)") }
      }
      group.addTask { _ = try await world.end() }
      try await group.waitForAll()
    }
    let live = try await world.registry.sessions(of: world.ada.id, now: start)
    let all = try await world.registry.store.sessions(of: world.ada.id)
    #expect(all.filter { $0.end == nil }.map(\.id) == [])
    #expect(live.isEmpty)
  }

  @Test func `of a deleted account takes the link, and leaves the account`() async throws {
    let world = try await World()
    let proof = IdentityProof(adaThere, provider: "up", label: "ada")
    let email = try #require(EmailAddress("ada@up.example"))
    let use = world.registry.credentialUse(opening: proof, email: email, username: "Ada", now: start)
    let device = DeviceInfo(id: DeviceID("phone"), name: "phone", platform: "linux")
    let new = try await world.registry.createSession(by: use, SessionStart(device: device), now: start)
    _ = try await world.end(.purged)
    let record = try #require(try await world.registry.account(new.account.id))
    #expect(record.email == email && record.closedAt == nil)
    #expect(try await world.registry.identities(of: record) == [])
    #expect(try await world.registry.account(identity: adaThere) == nil)
  }

  @Test func `keeps the identity of an account that has nothing else`() async throws {
    let world = try await World()
    let use = world.registry.credentialUse(
      opening: IdentityProof(adaThere, provider: "up", label: "ada"), email: nil, username: "Ada", now: start)
    let device = DeviceInfo(id: DeviceID("phone"), name: "phone", platform: "linux")
    let new = try await world.registry.createSession(by: use, SessionStart(device: device), now: start)
    _ = try await world.end(.purged)
    let record = try #require(try await world.registry.account(new.account.id))
    #expect(!record.isGuest)
  }

  @Test func `leaves no notes of ended sessions behind`() async throws {
    let world = try await World()
    for number in 0..<5 {
      let new = try await world.signInThere("d\(number)", sid: "s\(number)")
      _ = try await world.registry.end(new.row.id, of: world.ada.id, now: start)
    }
    _ = try await world.signInThere("last", sid: "last")
    var left = 0
    for key in [UpstreamKey(user: adaThere)] + (0..<5).map({ UpstreamKey(session: "s\($0)", at: issuer) }) {
      left += try await world.registry.store.items(.upstreamSession, subject: key.text).count
    }
    #expect(left == 1)
  }

  @Test func `leaves no notes of an account that is deleted, and those of another`() async throws {
    let world = try await World(limits: RegistryLimits(retention: .seconds(60)))
    let first = try await world.signInThere("phone", sid: "s1")
    _ = try await world.signInThere("laptop", sid: "s2")
    let eve = try await world.registry.openAccount(email: nil, username: "Eve", passwordHash: nil, now: start)
    var use = CredentialUse(account: eve, way: .provider, methods: [.federated], changes: [])
    use.upstream = UpstreamSession(identity: adaThere, sid: "s3", authenticatedAt: start)
    let device = DeviceInfo(id: DeviceID("tv"), name: "tv", platform: "linux")
    _ = try await world.registry.createSession(by: use, SessionStart(device: device), now: start)
    _ = try await world.registry.end(first.row.id, of: world.ada.id, now: start)
    let ada = try #require(try await world.registry.account(world.ada.id))
    _ = try await world.registry.deleteAccount(ada, now: start)
    func notes() async throws -> [StoredItem] {
      var found: [StoredItem] = []
      let sessions = ["s1", "s2", "s3"].map { UpstreamKey(session: $0, at: issuer) }
      for key in [UpstreamKey(user: adaThere)] + sessions {
        found += try await world.store.items(.upstreamSession, subject: key.text)
      }
      return found
    }
    #expect(try await notes().count { !$0.payload.isEmpty } == 2, "nothing tells of a session of hers")
    while try await world.registry.prune(now: start) > 0 {}
    #expect(try await notes().count == 2)
  }
}
