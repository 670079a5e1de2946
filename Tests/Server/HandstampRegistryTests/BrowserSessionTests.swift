import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampRegistry

/// The common end of a signed-in browser and the clients that its user signed in to.
struct Desk {
  let world: World
  let browser: BrowserSession
  var registry: Registry { world.registry }
  var account: AccountID { world.ada.id }

  init(
    _ world: World, _ id: String = "browser", _ persistence: SessionPersistence = .persistent,
    leaving previous: SessionID? = nil
  ) async throws {
    self.world = world
    browser = try await world.registry.beginBrowserSession(
      by: .password(of: world.ada), on: .browser(id), persistence, leaving: previous, now: start)
  }

  var user: BrowserSession { browser }

  /// Signs in to a client.
  func signIn(_ client: String = "site", scope: String = "openid") async throws -> SessionRow {
    let code = try await registry.issueCode(.to(client, scope), by: user, now: start)
    let outcome = try await registry.redeemCode(code.secret, .of(client), now: start)
    guard case .signedIn(let new, _) = outcome else { throw Refused(outcome: outcome) }
    return new.row
  }

  struct Refused: Error { var outcome: CodeOutcome }

  func isLive(_ row: SessionRow) async throws -> Bool { try await registry.isLive(row.id, now: start) }

  /// The clients that are to be told that a session has ended, with the session.
  func logouts(_ clients: String...) async throws -> [SessionID] {
    var found: [SessionID] = []
    for client in clients { found += try await registry.waitingLogouts(of: client, now: start).map(\.session) }
    return found
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The session of a browser` {
  @Test func `is one of the account's sessions`() async throws {
    let desk = try await Desk(World())
    let rows = try await desk.registry.sessions(of: desk.account, now: start)
    #expect(rows == [desk.user.row])
    #expect(rows.map(\.kind) == [.browser])
    _ = try await desk.registry.end(desk.user.row.id, of: desk.account, now: start)
    #expect(try await desk.registry.browserSession(desk.browser.cookie, now: start) == nil)
  }

  @Test func `has limits of its own`() async throws {
    var limits = RegistryLimits()
    (limits.browserIdleLimit, limits.browserAbsoluteLimit) = (.seconds(100), .seconds(1000))
    let desk = try await Desk(World(limits: limits))
    func isSignedIn(after time: Int64) async throws -> Bool {
      try await desk.registry.browserSession(desk.browser.cookie, now: start.advanced(by: .milliseconds(time))) != nil
    }
    #expect(try await isSignedIn(after: 99_999))
    #expect(try await !isSignedIn(after: 100_000))
    #expect(desk.user.row.absoluteExpiry == start.advanced(by: .seconds(1000)))
  }

  @Test func `has a new cookie after every proof, which is worthless from the new one's first use on`() async throws {
    let desk = try await Desk(World())
    let later = start.advanced(by: .seconds(60))
    let user = try #require(try await desk.registry.browserSession(desk.browser.cookie, now: start))
    let new = try await desk.registry.reauthenticate(user, by: .password(of: desk.world.ada), now: later)
    #expect(new.row.id == desk.user.row.id)
    #expect(new.authenticatedAt == later)
    // The response may be lost. The previous cookie does not show the proof.
    let previous = try await desk.registry.browserSession(desk.browser.cookie, now: later)
    #expect(previous?.authenticatedAt == start)
    let presented = try await desk.registry.browserSession(new.cookie, now: later)
    #expect(presented?.authenticatedAt == later)
    #expect(try await desk.registry.browserSession(desk.browser.cookie, now: later) == nil)
    #expect(try await desk.registry.browserSession(new.cookie, now: later) == presented)
  }

  @Test func `keeps both cookies of two proofs at once, whichever response arrives last`() async throws {
    let desk = try await Desk(World())
    let later = start.advanced(by: .seconds(60))
    let user = try #require(try await desk.registry.browserSession(desk.browser.cookie, now: start))
    let one = try await desk.registry.reauthenticate(user, by: .password(of: desk.world.ada), now: later)
    let two = try await desk.registry.reauthenticate(
      user, by: .password(of: desk.world.ada), now: later.advanced(by: .milliseconds(1)))
    #expect(two.row.cookies?.oldest == 0 && two.row.cookies?.provenAt == start && two.row.ring == KeyRing())
    let soon = later.advanced(by: .seconds(1))
    for cookie in [two.cookie, one.cookie, two.cookie, one.cookie] {
      #expect(try await desk.registry.browserSession(cookie, now: soon) != nil)
    }
    #expect(try await desk.registry.browserSession(desk.browser.cookie, now: soon) == nil)
    // No response is in flight for as long: the browser has the newer one.
    let late = later.advanced(by: .seconds(601))
    #expect(try await desk.registry.browserSession(two.cookie, now: late) != nil)
    #expect(try await desk.registry.browserSession(one.cookie, now: late) == nil)
  }

  @Test func `cannot be refreshed, and no other token is its cookie`() async throws {
    let desk = try await Desk(World())
    let token = desk.registry.mint.refreshToken(
      RefreshClaims(session: desk.user.row.session, counter: 0, mark: KeyMark(rawValue: 0)))
    #expect(try await desk.registry.refresh(token, key: nil, now: start) == .invalidRequest)
    let handle = desk.registry.mint.revocationHandle(for: desk.user.row.session)
    for text in [token.secret, handle.secret, Secret("hsb1.k1.AAAA"), Secret("")] {
      #expect(try await desk.registry.browserSession(text, now: start) == nil)
    }
    let phone = try await desk.world.signIn("phone", desk.world.ada)
    let forged = desk.registry.mint.browserCookie(for: phone.row.session, counter: 0)
    #expect(try await desk.registry.browserSession(forged, now: start) == nil)
  }

  @Test func `gives way to a new one of the same browser`() async throws {
    let desk = try await Desk(World())
    let later = start.advanced(by: PendingSession.life)
    let again = try await desk.registry.beginBrowserSession(
      by: .password(of: desk.world.ada), on: .browser("browser"), now: later)
    #expect(try await desk.registry.browserSession(desk.browser.cookie, now: later) != nil)
    #expect(try await desk.registry.browserSession(again.cookie, now: later) != nil)
    #expect(try await desk.registry.browserSession(desk.browser.cookie, now: later) == nil)
    #expect(try await desk.registry.storedSession(desk.user.row.id)?.end?.reason == .replaced)
    #expect(try await desk.registry.sessions(of: desk.account, now: later).map(\.id) == [again.row.id])
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A client that a user signed in to with a browser` {
  enum End: CaseIterable { case signOut, elsewhere, all, newPassword, closed, deleted }

  @Test(arguments: End.allCases) func `is signed out with the browser, and told`(end: End) async throws {
    let desk = try await Desk(World())
    let row = try await desk.signIn()
    let registry = desk.registry
    switch end {
    case .signOut: _ = try await registry.end(desk.user.row.id, of: desk.account, reason: .signedOut, now: start)
    case .elsewhere: _ = try await registry.end(desk.user.row.id, of: desk.account, now: start)
    case .all: _ = try await registry.endAll(of: desk.account, now: start)
    case .newPassword:
      _ = try await registry.setPassword(of: desk.world.ada, hash: Secret("new"), keeping: nil, now: start)
    case .closed: _ = try await registry.closeAccount(desk.world.ada, now: start)
    case .deleted: _ = try await registry.deleteAccount(desk.world.ada, now: start)
    }
    #expect(try await !desk.isLive(row))
    #expect(try await desk.logouts("site") == [row.id])
  }

  @Test func `stays if it was allowed to, or if it speaks no OpenID Connect`() async throws {
    let desk = try await Desk(World())
    let offline = try await desk.signIn("mail", scope: "openid offline_access")
    let plain = try await desk.signIn("tool", scope: "profile")
    _ = try await desk.registry.end(desk.user.row.id, of: desk.account, reason: .signedOut, now: start)
    #expect(try await desk.isLive(offline))
    #expect(try await desk.isLive(plain))
    #expect(try await desk.logouts("mail", "tool") == [])
  }

  @Test func `is told of its own end, however it comes`() async throws {
    let desk = try await Desk(World())
    let one = try await desk.signIn("one", scope: "openid offline_access")
    _ = try await desk.registry.end(one.id, of: desk.account, now: start)
    let two = try await desk.signIn("two")
    let end = start.advanced(by: .seconds(400 * 86_400))
    _ = try await desk.registry.expire(now: end)
    #expect(try await desk.registry.waitingLogouts(of: "two", now: end).map(\.session) == [two.id])
    #expect(try await desk.logouts("one") == [one.id])
    #expect(try await desk.isLive(desk.user.row) == false)
  }

  @Test func `goes on when the browser was merely unused, or signs in again`() async throws {
    var limits = RegistryLimits()
    limits.browserIdleLimit = .seconds(100)
    let desk = try await Desk(World(limits: limits))
    let row = try await desk.signIn()
    _ = try await desk.registry.expire(now: start.advanced(by: .seconds(200)))
    #expect(try await desk.isLive(row))
    let again = try await Desk(desk.world)
    #expect(try await desk.isLive(row))
    // It belongs to the browser, not to one of its sessions.
    _ = try await again.registry.end(again.user.row.id, of: again.account, reason: .signedOut, now: start)
    #expect(try await !desk.isLive(row))
  }

  @Test func `ends no later than the browser's session`() async throws {
    var limits = RegistryLimits()
    limits.browserAbsoluteLimit = .seconds(1000)
    let desk = try await Desk(World(limits: limits))
    #expect(try await desk.signIn().absoluteExpiry == start.advanced(by: .seconds(1000)))
    let offline = try await desk.signIn("mail", scope: "openid offline_access")
    #expect(offline.absoluteExpiry == start.advanced(by: .seconds(365 * 86_400)))
  }

  @Test func `does not sign itself out by ending all others`() async throws {
    let desk = try await Desk(World())
    let (kept, other) = (try await desk.signIn("kept"), try await desk.signIn("other"))
    _ = try await desk.registry.endAll(of: desk.account, except: kept.id, now: start)
    #expect(try await desk.isLive(kept))
    #expect(try await !desk.isLive(other))
    let again = try await Desk(desk.world)
    let changing = try await again.signIn("changing")
    _ = try await again.registry.setPassword(
      of: again.world.ada, hash: Secret("new"), keeping: changing.id, now: start)
    #expect(try await again.isLive(changing))
  }

  @Test func `gets no session from a code of a browser that was signed out`() async throws {
    let desk = try await Desk(World())
    let code = try await desk.registry.issueCode(.to("site", "openid"), by: desk.user, now: start)
    _ = try await desk.registry.end(desk.user.row.id, of: desk.account, reason: .signedOut, now: start)
    #expect(try await desk.registry.redeemCode(code.secret, .of("site"), now: start) == .invalid)
    await #expect(throws: RegistryError.accountChanged) {
      try await desk.registry.issueCode(.to("site", "openid"), by: desk.user, now: start)
    }
  }

  @Test func `is never left behind by a sign-out that crosses its sign-in`() async throws {
    for number in 0..<100 {
      let desk = try await Desk(World())
      let code = try await desk.registry.issueCode(.to("site", "openid"), by: desk.user, now: start)
      async let redeemed = try? desk.registry.redeemCode(code.secret, .of("site"), now: start)
      let outcome = try await desk.registry.end(
        desk.user.row.id, of: desk.account, reason: .signedOut, now: start)
      let late = await redeemed
      let left = try await desk.registry.sessions(of: desk.account, now: start)
      #expect(left.isEmpty, "round \(number): \(outcome.count) ended, then \(String(describing: late))")
    }
  }

  @Test func `has its nonce back, and when the user signed in`() async throws {
    let desk = try await Desk(World())
    var grant = CodeGrant.to("site", "openid")
    grant.nonce = "n-0S6_WzA2Mj & more"
    let code = try await desk.registry.issueCode(grant, by: desk.user, now: start.advanced(by: .seconds(30)))
    let outcome = try await desk.registry.redeemCode(
      code.secret, .of("site"), now: start.advanced(by: .seconds(40)))
    guard case .signedIn(let new, let nonce) = outcome else { throw Desk.Refused(outcome: outcome) }
    #expect(nonce == grant.nonce)
    #expect(new.row.authenticatedAt == start)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `What a user allows a client` {
  @Test func `is remembered, and grows with what is allowed later`() async throws {
    let desk = try await Desk(World())
    #expect(try await desk.registry.consent(of: desk.account, to: "site", now: start) == nil)
    _ = try await desk.signIn(scope: "openid profile")
    _ = try await desk.signIn(scope: "openid email")
    let consent = try #require(try await desk.registry.consent(of: desk.account, to: "site", now: start))
    #expect(consent.scopes == ["openid", "profile", "email"])
    #expect(consent.covers(["email"], for: []))
    #expect(!consent.covers(["email"], for: ["https://other.example.org"]))
    #expect(!consent.covers(["email", "write"], for: []))
    #expect(try await desk.registry.consents(of: desk.account, now: start) == [consent])
  }

  @Test func `is withdrawn with the client's sessions and codes`() async throws {
    let desk = try await Desk(World())
    let (row, other) = (try await desk.signIn(), try await desk.signIn("other"))
    let code = try await desk.registry.issueCode(.to("site", "openid"), by: desk.user, now: start)
    _ = try await desk.registry.withdrawConsent(of: desk.account, to: "site", now: start)
    #expect(try await desk.registry.consents(of: desk.account, now: start).map(\.client) == ["other"])
    #expect(try await !desk.isLive(row))
    #expect(try await desk.isLive(other))
    #expect(try await desk.registry.redeemCode(code.secret, .of("site"), now: start) == .invalid)
    #expect(try await desk.logouts("site", "other") == [row.id])
  }

  @Test func `goes with the account`() async throws {
    let desk = try await Desk(World())
    _ = try await desk.signIn()
    _ = try await desk.registry.deleteAccount(desk.world.ada, now: start)
    #expect(try await desk.registry.consents(of: desk.account, now: start) == [])
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A logout that waits` {
  private func waiting() async throws -> (Desk, ClaimedJob<LogoutJob>) {
    let desk = try await Desk(World())
    let row = try await desk.signIn()
    _ = try await desk.registry.end(row.id, of: desk.account, now: start)
    let item = try #require(try await desk.registry.dueJobs(LogoutJob.self, at: start, limit: 9).first)
    let lease = start.advanced(by: .seconds(20))
    return (desk, try #require(try await desk.registry.claim(item, as: LogoutJob.self, until: lease, now: start)))
  }

  @Test func `is one worker's until its lease passes`() async throws {
    let (desk, job) = try await waiting()
    #expect(try await desk.registry.dueJobs(LogoutJob.self, at: start, limit: 9) == [])
    let later = start.advanced(by: .seconds(20))
    let item = try #require(try await desk.registry.dueJobs(LogoutJob.self, at: later, limit: 9).first)
    let other = try await desk.registry.claim(item, as: LogoutJob.self, until: later, now: later)
    #expect(other?.job.tries.attempts == 2)
    // The first worker comes back, and changes nothing.
    try await desk.registry.fail(job, because: "late", until: nil)
    #expect(try await desk.registry.waitingLogouts(of: "site", now: later).first?.failure == nil)
  }

  @Test func `is tried again, and shows why it failed`() async throws {
    let (desk, job) = try await waiting()
    let next = start.advanced(by: .seconds(2))
    try await desk.registry.fail(job, because: "it answered 500", until: next)
    let shown = try #require(try await desk.registry.waitingLogouts(of: "site", now: start).first)
    #expect(shown.failure == "it answered 500")
    #expect((shown.failures, shown.nextAt) == (1, next))
    #expect(try await desk.registry.dueJobs(LogoutJob.self, at: next, limit: 9).count == 1)
  }

  @Test func `stays visible when it was given up, and is gone when it was delivered`() async throws {
    let (desk, job) = try await waiting()
    try await desk.registry.fail(job, because: "it answered 404", until: nil)
    #expect(try await desk.registry.waitingLogouts(of: "site", now: start).map(\.nextAt) == [nil])
    let (other, done) = try await waiting()
    try await other.registry.finish(done)
    #expect(try await other.registry.waitingLogouts(of: "site", now: start) == [])
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A pushed request` {
  @Test func `is good for ten minutes and for one code`() async throws {
    let desk = try await Desk(World())
    let reference = try await desk.registry.push(parameters: "scope=a", of: "site", now: start)
    let pushed = try #require(try await desk.registry.pushedRequest(reference.secret, now: start))
    #expect((pushed.client, pushed.parameters) == ("site", "scope=a"))
    let end = start.advanced(by: PushedRequest.life)
    #expect(try await desk.registry.pushedRequest(reference.secret, now: end) == nil)
    _ = try await desk.registry.issueCode(.to("site", "openid"), by: desk.user, for: pushed, now: start)
    #expect(try await desk.registry.pushedRequest(reference.secret, now: start) == nil)
    await #expect(throws: RegistryError.accountChanged) {
      try await desk.registry.issueCode(.to("site", "openid"), by: desk.user, for: pushed, now: start)
    }
  }
}

extension CodeGrant {
  /// The challenge is that of ``CodeClaim/of(_:)``'s verifier (RFC 7636 section 4.2).
  static func to(_ client: String, _ scope: String) -> CodeGrant {
    CodeGrant(
      client: client, clientName: client, redirectURI: "app:/",
      challenge: "7w_YNF9DSfIdPf_pRjSq646_kPr-2-o9NAl16JGghdM", scope: scope)
  }
}

extension CodeClaim {
  static func of(_ client: String) -> CodeClaim {
    var claim = CodeClaim.sample
    claim.client = client
    return claim
  }
}
