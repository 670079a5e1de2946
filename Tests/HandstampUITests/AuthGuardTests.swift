import Handstamp
import HandstampCore
import HandstampTesting
import HandstampVaults
import Testing

@testable import HandstampUI

@MainActor @Suite struct `The guard of an app` {
  typealias Session = SessionManager<String>
  let vault = MemoryVault()

  private func session(
    _ vault: any Vault, load: @escaping @Sendable (APIClient) async throws -> String = { _ in "content" }
  ) -> Session {
    Session(backend: NoAccounts(), vault: vault, baseURL: base, load: load)
  }

  private func grant(_ name: String = "ada", session: String = "s") -> Grant {
    Grant(
      tokens: TokenSet(access: AccessToken("a"), life: .seconds(600), refresh: RefreshToken("r-\(session)")),
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

  @Test func `shows the app when somebody is signed in, and what is in the way before`() async throws {
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
    (.misused, .reasonMisused), (.expired, .reasonExpired), (.idle, .reasonIdle),
    (.accountClosed, .reasonAccountClosed), (.rejected, .reasonRejected), (.erased, .reasonRejected),
  ])
  func `says why a session ended, where somebody did not end it themselves`(reason: EndReason, word: Word?) async throws
  {
    let session = session(vault)
    let model = AuthGuardModel(session)
    try await session.signIn { grant() }
    await session.signOut(reason: reason)
    guard case .signedOut(let wording) = model.state else { throw Unexpected() }
    #expect(wording?.word == word)
  }

  @Test(arguments: [
    (VaultTrouble.locked, Word.errorLocked, Recovery.unlockDevice), (.corrupt, .errorCorrupt, .signIn),
    (.unavailable("x"), .errorStorage, .retry(after: nil)),
  ])
  func `shows a vault in trouble as that, and goes on when it is tried again`(
    trouble: VaultTrouble, word: Word, recovery: Recovery
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

  @Test func `shows what could not be loaded, and loads it anew`() async throws {
    let isDown = Locked(true)
    let session = session(vault) { _ in
      if isDown.withLock({ $0 }) { throw SessionError.unreachable(retryAfter: nil) }
      return "content"
    }
    let model = AuthGuardModel(session)
    try await session.signIn { grant() }
    await wait { model.state.name == "failed" }
    guard case .failed(let profile, let wording, let recovery) = model.state else { throw Unexpected() }
    #expect(profile.name == "ada" && wording.word == .errorUnreachable && recovery == .retry(after: nil))
    isDown.withLock { $0 = false }
    await model.retry()
    await wait { model.state.name == "signedIn content" }
    // Being offline takes away nothing that was shown.
    isDown.withLock { $0 = true }
    await model.retry()
    await wait { model.state.notice?.word == .offline }
    #expect(model.state.name == "signedIn content")
  }

  @Test func `hides what was shown when presence is asked for, and never shows it to another account`() async throws {
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
    error.withLock { $0 = .invalidAnswer("x") }
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
