import Handstamp
import HandstampCore
import HandstampTesting
import HandstampVaults
import Testing

/// A server that does what it is asked, and takes it down.
private final class Desk: AccountBackend {
  private let content = Locked<(calls: [String], failure: SessionError?)>(([], nil))
  var calls: [String] { content.withLock { $0.calls } }

  /// What happens while the server deletes an account.
  let whileDeleting = Locked<(@Sendable () async -> Void)?>(nil)

  func fail(with error: SessionError?) { content.withLock { $0.failure = error } }

  private func note(_ call: String) throws(SessionError) {
    let failure = content.withLock { content in
      content.calls.append(call)
      return content.failure
    }
    if let failure { throw failure }
  }

  private func grant(_ id: String, session: String, guest: Bool = false) -> Grant {
    var grant = Grant.sample(0, session: session)
    grant.profile = Profile(id: AccountID(id), name: guest ? "" : id, isAnonymous: guest)
    return grant
  }

  func refresh(_ token: RefreshToken, key: RotationKey) async -> Result<Grant, RefreshFailure> { .success(.sample(1)) }
  func revoke(_ handle: RevocationHandle) async throws(SessionError) {}

  func signUp(email: String, password: Secret, username: String) async throws(SessionError) -> SignUpOutcome {
    try note("sign-up")
    return email == "new@example.org" ? .confirmationSent : .signedIn(grant("ada", session: "up"))
  }
  func signIn(email: String, password: Secret) async throws(SessionError) -> Grant {
    try note("sign-in")
    return grant("ada", session: "in")
  }
  func signInAnonymously() async throws(SessionError) -> Grant {
    try note("guest")
    return grant("g1", session: "guest", guest: true)
  }
  func upgrade(
    email: String, password: Secret, username: String, token: AccessToken
  ) async throws(SessionError) -> SignUpOutcome {
    try note("upgrade \(token.text)")
    return .signedIn(grant("g1", session: "full"))
  }
  func signInWithApple(idToken: Secret, nonce: String) async throws(SessionError) -> Grant {
    try note("apple \(nonce)")
    return grant("apple", session: "apple")
  }
  func requestPasswordReset(email: String) async throws(SessionError) { try note("reset") }
  func changePassword(
    from old: Secret, to new: Secret, endingOthers: Bool, token: AccessToken
  ) async throws(SessionError) { try note("password \(endingOthers)") }
  func deleteAccount(password: Secret?, token: AccessToken) async throws(SessionError) {
    try note("delete")
    await whileDeleting.withLock { $0 }?()
  }
  func endOtherSessions(token: AccessToken) async throws(SessionError) { try note("end-others") }
}

@MainActor @Suite struct `An account, as a session manager serves it` {
  private let desk = Desk()
  private let clock = ManualClock()

  private let vault = MemoryVault()

  private func manager(_ backend: (any Backend)? = nil) -> SessionManager<String> {
    SessionManager(
      backend: backend ?? desk, vault: vault, baseURL: base,
      transport: StubTransport { _ in .init(status: 200) }, policy: quiet, clock: clock,
      cleanups: [CleanupStep("store", .database) { _ in }]
    ) { _ in "content" }
  }

  @Test func `is made, with a session at once or after a mail`() async throws {
    let session = manager()
    let later = try await session.signUp(email: "new@example.org", password: Secret("p"), username: "ada")
    #expect(later == .confirmationSent)
    #expect(!session.isAuthenticated)
    guard case .signedIn = try await session.signUp(email: "a@example.org", password: Secret("p"), username: "ada")
    else {
      throw SessionError.cancelled
    }
    #expect(session.currentUser?.id == AccountID("ada"))
  }

  @Test func `is entered by password and by Apple`() async throws {
    let session = manager()
    try await session.signIn(email: "a@example.org", password: Secret("p"))
    #expect(session.currentUser?.id == AccountID("ada"))
    try await session.signInWithApple(idToken: Secret("jwt"), nonce: "n1")
    #expect(session.currentUser?.id == AccountID("apple"))
    #expect(desk.calls == ["sign-in", "apple n1"])
  }

  @Test func `of a guest becomes a full one under its id`() async throws {
    let session = manager()
    try await session.signInAnonymously()
    #expect(session.isAnonymous)
    try await session.upgrade(email: "a@example.org", password: Secret("p"), username: "ada")
    #expect(session.currentUser?.id == AccountID("g1"))
    #expect(session.isAuthenticated && !session.isAnonymous)
    #expect(desk.calls == ["guest", "upgrade access-guest-0"])
  }

  @Test func `of a guest who is not remembered is not remembered either`() async throws {
    let session = manager()
    try await session.signIn(remember: false) { [desk] in try await desk.signInAnonymously() }
    try await session.upgrade(email: "a@example.org", password: Secret("p"), username: "ada")
    #expect(session.isAuthenticated && !session.isAnonymous)
    if case .value(let entry) = await vault.read() { #expect(entry.session == nil) }
  }

  @Test func `has a password that can be changed and set anew`() async throws {
    let session = manager()
    try await session.resetPassword(email: "a@example.org")
    await #expect(throws: SessionError.signedOut(nil)) { @MainActor in
      try await session.changePassword(from: Secret("a"), to: Secret("b"))
    }
    try await session.signIn(email: "a@example.org", password: Secret("a"))
    try await session.changePassword(from: Secret("a"), to: Secret("b"), endingOthers: false)
    #expect(desk.calls == ["reset", "sign-in", "password false"])
  }

  @Test func `is deleted here only after it is deleted there`() async throws {
    let session = manager()
    try await session.signIn(email: "a@example.org", password: Secret("a"))
    desk.fail(with: .refused(code: "wrong_credentials", detail: nil))
    await #expect(throws: SessionError.refused(code: "wrong_credentials", detail: nil)) { @MainActor in
      try await session.deleteAccount(password: Secret("x"))
    }
    #expect(session.isAuthenticated && !session.snapshot.isWorking)
    desk.fail(with: nil)
    let report = try await session.deleteAccount(password: Secret("a"))
    #expect(report.cleanup.cleared == ["store"])
    #expect(session.snapshot.endReason == .accountClosed)
  }

  @Test func `is deleted without ending the session that took its place meanwhile`() async throws {
    let session = manager()
    try await session.signInAnonymously()
    desk.whileDeleting.withLock {
      $0 = { @MainActor in try? await session.signIn(email: "a@example.org", password: Secret("a")) }
    }
    let report = try await session.deleteAccount()
    #expect(report.cleanup.cleared.isEmpty)
    #expect(session.currentUser?.id == AccountID("ada"))
  }

  @Test func `is left everywhere, and here also when the server cannot be asked`() async throws {
    let session = manager()
    try await session.signIn(email: "a@example.org", password: Secret("a"))
    #expect(await session.signOutEverywhere().others == nil)
    #expect(desk.calls.last == "end-others")
    try await session.signIn(email: "a@example.org", password: Secret("a"))
    desk.fail(with: .unreachable(retryAfter: nil))
    #expect(await session.signOutEverywhere().others == .unreachable(retryAfter: nil))
    #expect(!session.isAuthenticated)
  }

  @Test func `always ends what it shows as under way`() async throws {
    let session = manager()
    desk.fail(with: .unreachable(retryAfter: nil))
    _ = try? await session.signUp(email: "a@example.org", password: Secret("p"), username: "a")
    _ = try? await session.signIn(email: "a@example.org", password: Secret("p"))
    _ = try? await session.signInAnonymously()
    _ = try? await session.signInWithApple(idToken: Secret("jwt"), nonce: "n")
    _ = try? await session.resetPassword(email: "a@example.org")
    #expect(!session.snapshot.isWorking)
    #expect(desk.calls.count == 5)
  }

  @Test func `is not offered by every backend`() async throws {
    let session = manager(ScriptedBackend.rotating())
    await #expect(throws: SessionError.unsupported("accounts")) { @MainActor in
      try await session.signIn(email: "a@example.org", password: Secret("a"))
    }
  }
}
