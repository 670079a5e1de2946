import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampUI

@MainActor @Suite(.timeLimit(.minutes(10))) struct `The guard of an app` {
  typealias Session = SessionManager<String>
  let vault = MemoryVault()

  private func session(
    _ vault: any Vault, load: @escaping @Sendable (APIClient) async throws -> String = { _ in "content" }
  ) -> Session {
    Session(backend: NoAccounts(), vault: vault, baseURL: base, load: load)
  }

  private func grant(_ name: String = "ada", session: String = "s") -> TokenResponse {
    TokenResponse(
      tokens: TokenSet(access: AccessToken("a"), expiresIn: .seconds(600), refresh: RefreshToken("r-\(session)")),
      sessionID: SessionID(session), profile: Profile(id: AccountID(name), name: name))
  }

  @Test func `shows nothing of the app before it is known who is signed in`() async throws {
    let gate = Gate()
    let faulty = FaultyVault(vault)
    await faulty.set { $0.gate = gate }
    let session = session(faulty)
    let model = AuthGuardModel(session)
    #expect(model.state.name == "restoring")
    gate.open()
    await observed { model.state.name == "signedOut" }
  }

  @Test func `shows the app once a user is signed in, and its loading state before`() async throws {
    let gate = Gate()
    let session = session(vault) { _ in
      await gate.wait()
      return "content"
    }
    let model = AuthGuardModel(session)
    try await session.signIn { grant() }
    #expect(model.state.name == "loading")
    gate.open()
    await observed { model.state.name == "signedIn content" }
    await session.signOut()
    #expect(model.state.name == "signedOut")
  }

  @Test(arguments: [
    (EndReason.signedOut, Word?.none), (.revoked, .reasonRevoked), (.replaced, .reasonReplaced),
    (.tokenReuseDetected, .reasonTokenReuse), (.expired, .reasonExpired), (.idle, .reasonIdle),
    (.accountClosed, .reasonAccountClosed), (.endedAtProvider(), .reasonProvider), (.rejected, .reasonRejected),
    (.erased, .reasonRejected), (.endedAtProvider("Google"), .reasonProviderNamed),
  ])
  func `says why a session ended, unless the user ended it`(reason: EndReason, word: Word?) async throws {
    let session = session(vault)
    let model = AuthGuardModel(session)
    try await session.signIn { grant() }
    await session.signOut(reason: reason)
    guard case .signedOut(let wording) = model.state else { throw Unexpected() }
    #expect(wording?.word == word)
  }

  @Test(arguments: [
    (VaultError.locked, Word.errorLocked, Recovery.unlockDevice), (.corrupt, .errorCorrupt, .signIn),
    (.unavailable("x"), .errorStorage, .retry(after: nil)),
  ])
  func `shows a vault error as such, and recovers on retry`(
    trouble: VaultError, word: Word, recovery: Recovery
  ) async throws {
    try await session(vault).signIn { grant() }
    let faulty = FaultyVault(vault)
    await faulty.set { $0.reading = .trouble(trouble) }
    let session = session(faulty)
    let model = AuthGuardModel(session)
    await observed { model.state.name == "locked" }
    guard case .locked(let wording, let way) = model.state else { throw Unexpected() }
    #expect(wording.word == word && way == recovery)
    await faulty.set { $0.reading = nil }
    await model.retry()
    await observed { model.state.name == "signedIn content" }
  }

  @Test func `has a way out of a session that is damaged, and of one of another server`() async throws {
    let faulty = FaultyVault(vault)
    try await session(faulty).signIn { grant() }
    await faulty.tear()
    let damaged = session(faulty)
    let model = AuthGuardModel(damaged)
    await observed { model.state.name == "locked" }
    #expect(model.state.recovery == .signIn)
    try await damaged.signIn { grant("bob", session: "s2") }
    await observed { model.state.name == "signedIn content" }

    let clock = ManualClock()
    let (first, second) = try (
      TestServer(clock: clock, issuer: "https://a.example.org"),
      TestServer(clock: clock, issuer: "https://b.example.org")
    )
    let place = MemoryVault()
    try await Session(backend: first, vault: place, baseURL: base, clock: clock) { _ in "content" }
      .signIn { try await first.signIn("ada") }
    let moved = Session(backend: second, vault: place, baseURL: base, clock: clock) { _ in "content" }
    let other = AuthGuardModel(moved)
    await observed { other.state.name == "locked" }
    #expect(other.state.recovery == .fixConfiguration)
    await other.signOut()
    await observed { other.state.name == "signedOut" }
    try await moved.signIn { try await second.signIn("ada") }
    await observed { other.state.name == "signedIn content" }
  }

  @Test func `shows that loading failed, and loads again on retry`() async throws {
    let isDown = Locked(true)
    let session = session(vault) { _ in
      if isDown.withLock({ $0 }) { throw SessionError.requestFailed(.network(.timedOut)) }
      return "content"
    }
    let model = AuthGuardModel(session)
    try await session.signIn { grant() }
    await observed { model.state.name == "failed" }
    guard case .failed(let facts, let wording, let recovery) = model.state else { throw Unexpected() }
    #expect(facts.profile?.name == "ada" && wording.word == .errorUnreachable && recovery == .retry(after: nil))
    isDown.withLock { $0 = false }
    await model.retry()
    await observed { model.state.name == "signedIn content" }
    // Content on display stays visible when the device goes offline.
    isDown.withLock { $0 = true }
    await model.retry()
    await observed { model.state.notice?.word == .offline }
    #expect(model.state.notice?.remedy == .tryAgain)
    #expect(model.state.name == "signedIn content")
  }

  @Test func `offers a sign-in where the session needs one, and not where the API refuses`() async throws {
    let error = Locked<any Error>(APIError.status(403, Problem(code: "no_seats")))
    let session = session(vault) { _ in
      if let error = error.withLock({ $0 as? Loaded }) { return error.content }
      throw error.withLock { $0 }
    }
    let model = AuthGuardModel(session)
    try await session.signIn { grant() }
    await observed { model.state.name == "failed" }
    guard case .failed(_, _, .retry(after: nil)?) = model.state else { throw Unexpected() }
    error.withLock { $0 = SessionError.noRefreshToken }
    await model.retry()
    await observed { model.state.failure?.recovery == .signIn }
    #expect(model.state.failure?.remedy == .signIn)
    // Content on display stays, and the notice has the same step.
    error.withLock { $0 = Loaded(content: "content") }
    await model.retry()
    await observed { model.state.name == "signedIn content" }
    let refused = RequestError.server(.init(status: 401, error: "token_refused"))
    error.withLock { $0 = SessionError.requestFailed(refused) }
    await model.retry()
    await observed { model.state.notice?.remedy == .signIn }
    #expect(model.state.name == "signedIn content")
    error.withLock { $0 = Loaded(content: "content") }
    try await session.signIn { grant(session: "s2") }
    await observed { model.state.notice == nil }
    #expect(model.state.name == "signedIn content")
  }

  @Test func `hides the content while presence is required, and never shows it to another account`() async throws {
    let error = Locked<SessionError?>(nil)
    let session = session(vault) { _ in
      if let error = error.withLock({ $0 }) { throw error }
      return "content"
    }
    let model = AuthGuardModel(session)
    try await session.signIn { grant() }
    await observed { model.state.name == "signedIn content" }
    error.withLock { $0 = .presence(.declined) }
    await model.retry()
    await observed { model.state.name == "failed" }
    guard case .failed(_, let wording, let recovery) = model.state else { throw Unexpected() }
    #expect(wording.word == .errorPresence && recovery == .confirmPresence)
    error.withLock { $0 = .invalidResponse("x") }
    await model.retry()
    await observed { model.state.notice?.word == .errorServer }
    try await session.signIn { grant("bob", session: "s2") }
    await observed { model.state.name == "failed" }
    await model.signOut()
    #expect(model.state.name == "signedOut")
  }
}

extension AuthGuardState<String> {
  var name: String {
    switch self {
    case .restoring: "restoring"
    case .signedOut: "signedOut"
    case .locked: "locked"
    case .loading: "loading"
    case .signedIn(let content, _): "signedIn \(content)"
    case .failed: "failed"
    }
  }

  var recovery: Recovery? { if case .locked(_, let recovery) = self { recovery } else { nil } }

  var failure: Wording? { if case .failed(_, let wording, _) = self { wording } else { nil } }

  var notice: Wording? { if case .signedIn(_, let notice) = self { notice } else { nil } }
}

/// No error: content that loads.
private struct Loaded: Error { let content: String }

struct Unexpected: Error {}
