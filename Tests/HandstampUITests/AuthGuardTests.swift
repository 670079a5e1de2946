import Handstamp
import HandstampCore
import HandstampSupport
import HandstampTesting
import HandstampVaults
import Testing

@testable import HandstampUI

@MainActor @Suite(.timeLimit(.minutes(10))) struct `The guard of an app` {
  typealias Session = SessionManager<NoAccounts, String>
  let vault = MemoryVault()

  private func session(
    _ vault: any Vault, load: @escaping @Sendable (APIClient) async throws -> String = { _ in "content" }
  ) -> Session {
    Session(backend: NoAccounts(), vault: vault, baseURL: base, load: load)
  }

  private func grant(_ name: String = "ada", session: String = "s") -> TokenResponse {
    TokenResponse(
      tokens: TokenSet(access: AccessToken("a"), expiresIn: .seconds(600), refresh: RefreshToken("r-\(session)")),
      session: SessionID(session), profile: Profile(id: AccountID(name), name: name))
  }

  @Test func `shows nothing of the app before it is known who is signed in`() async throws {
    let gate = Gate()
    let faulty = FaultyVault(vault)
    await faulty.set { $0.gate = gate }
    let session = session(faulty)
    let model = AuthGuardModel(session)
    #expect(model.state.name == "restoring")
    gate.open()
    await wait { model.state.name == "signedOut" }
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
    await wait { model.state.name == "signedIn content" }
    await session.signOut()
    #expect(model.state.name == "signedOut")
  }

  @Test(arguments: [
    (EndReason.signedOut, Word?.none), (.revoked, .reasonRevoked), (.replaced, .reasonReplaced),
    (.tokenReuseDetected, .reasonTokenReuse), (.expired, .reasonExpired), (.idle, .reasonIdle),
    (.accountClosed, .reasonAccountClosed), (.rejected, .reasonRejected), (.erased, .reasonRejected),
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
    await wait { model.state.name == "locked" }
    guard case .locked(let wording, let way) = model.state else { throw Unexpected() }
    #expect(wording.word == word && way == recovery)
    await faulty.set { $0.reading = nil }
    await model.retry()
    await wait { model.state.name == "signedIn content" }
  }

  @Test func `shows that loading failed, and loads again on retry`() async throws {
    let isDown = Locked(true)
    let session = session(vault) { _ in
      if isDown.withLock({ $0 }) { throw SessionError.requestFailed(.network(.timedOut)) }
      return "content"
    }
    let model = AuthGuardModel(session)
    try await session.signIn { grant() }
    await wait { model.state.name == "failed" }
    guard case .failed(let facts, let wording, let recovery) = model.state else { throw Unexpected() }
    #expect(facts.profile?.name == "ada" && wording.word == .errorUnreachable && recovery == .retry(after: nil))
    isDown.withLock { $0 = false }
    await model.retry()
    await wait { model.state.name == "signedIn content" }
    // Content on display stays visible when the device goes offline.
    isDown.withLock { $0 = true }
    await model.retry()
    await wait { model.state.notice?.word == .offline }
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
    await wait { model.state.name == "signedIn content" }
    error.withLock { $0 = .presence(.declined) }
    await model.retry()
    await wait { model.state.name == "failed" }
    guard case .failed(_, let wording, let recovery) = model.state else { throw Unexpected() }
    #expect(wording.word == .errorPresence && recovery == .confirmPresence)
    error.withLock { $0 = .invalidResponse("x") }
    await model.retry()
    await wait { model.state.notice?.word == .errorServer }
    try await session.signIn { grant("bob", session: "s2") }
    await wait { model.state.name == "failed" }
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

  var notice: Wording? { if case .signedIn(_, let notice) = self { notice } else { nil } }
}

struct Unexpected: Error {}
