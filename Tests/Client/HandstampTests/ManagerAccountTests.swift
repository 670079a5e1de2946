import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

/// A server that carries out every request, and records it.
final class Desk: AccountBackend {
  private let content = Locked<(calls: [String], failure: SessionError?)>(([], nil))
  var calls: [String] { content.withLock { $0.calls } }

  /// Runs while the server deletes an account.
  let whileDeleting = Locked<(@Sendable () async -> Void)?>(nil)

  func fail(with error: SessionError?) { content.withLock { $0.failure = error } }

  private func note(_ call: String) throws(SessionError) {
    let failure = content.withLock { content in
      content.calls.append(call)
      return content.failure
    }
    if let failure { throw failure }
  }

  private func grant(_ id: String, session: String, guest: Bool = false) -> TokenResponse {
    var grant = TokenResponse.sample(0, session: session)
    grant.profile = Profile(id: AccountID(id), name: guest ? "" : id, isAnonymous: guest)
    return grant
  }

  var abilities: BackendAbilities { BackendAbilities(supportsRotationKeys: true) }
  func refresh(_ request: RefreshRequest) async -> RefreshResult { .granted(.sample(1)) }
  func revoke(_ handle: RevocationHandle) async -> RevocationResult { .ended }

  func signUp(email: String, password: Secret, username: String) async throws(SessionError) -> SignUpResponse {
    try note("sign-up")
    return email == "new@example.org" ? .confirmationSent : .signedIn(grant("ada", session: "up"))
  }
  func confirmSignUp(_ code: Secret, password: Secret) async throws(SessionError) -> TokenResponse {
    try note("confirm \(code.withExposed { $0 }) \(password.withExposed { $0 })")
    return grant("ada", session: "confirmed")
  }
  func signIn(email: String, password: Secret, code: Secret?) async throws(SessionError) -> TokenResponse {
    try note("sign-in")
    return grant("ada", session: "in")
  }
  func signInAnonymously() async throws(SessionError) -> TokenResponse {
    try note("guest")
    return grant("g1", session: "guest", guest: true)
  }
  func upgrade(by way: GuestUpgrade, token: AccessToken) async throws(SessionError) -> SignUpResponse {
    let kind =
      switch way {
      case .password: ""
      case .apple(let credential): " apple \(credential.name ?? "-")"
      case .passkey: " passkey"
      }
    try note("upgrade \(token.text)\(kind)")
    return .signedIn(grant("g1", session: "full"))
  }
  func signInWithApple(_ credential: AppleCredential) async throws(SessionError) -> TokenResponse {
    try note("apple \(credential.nonce)")
    return grant("apple", session: "apple")
  }
  @concurrent func signInWithPasskey(asking ask: @escaping PasskeyPrompt) async throws(SessionError) -> TokenResponse {
    try note("passkey \(String(decoding: try await ask(Array("options".utf8)), as: UTF8.self))")
    return grant("ada", session: "passkey")
  }
  func requestPasswordReset(email: String) async throws(SessionError) { try note("reset") }
  func proofs(token: AccessToken) async throws(SessionError) -> Set<Proof.Kind> { throw .unsupported("proofs") }
  func reauthenticate(_ proof: Proof, token: AccessToken) async throws(SessionError) -> AccessToken {
    throw .unsupported("proofs")
  }
  func mailProof(token: AccessToken) async throws(SessionError) { throw .unsupported("proofs") }
  func changePassword(
    to new: Secret, endingOthers: Bool, proof: Proof?, token: AccessToken
  ) async throws(SessionError) { try note("password \(endingOthers)") }
  func deleteAccount(proof: Proof?, token: AccessToken) async throws(SessionError) {
    try note("delete")
    await whileDeleting.withLock { $0 }?()
  }
  func endOtherSessions(token: AccessToken) async throws(SessionError) { try note("end-others") }
  func registerPushToken(_ pushToken: Secret?, token: AccessToken) async throws(SessionError) {
    try note("push \(pushToken?.withExposed { $0 } ?? "-") \(token.text)")
  }
}

private struct Unexpected: Error {}

@MainActor @Suite(.timeLimit(.minutes(10))) struct `An account in a session manager` {
  private let desk = Desk()
  private let clock = ManualClock()

  private let vault = MemoryVault()

  private func manager(_ log: ListAuditLog? = nil) -> SessionManager<String> {
    SessionManager(
      backend: desk, vault: vault, baseURL: base,
      transport: StubTransport { _ in .init(status: 200) }, policy: quiet, clock: clock, audit: log,
      cleanups: [CleanupStep("store", .database) { _ in }]
    ) { _ in "content" }
  }

  @Test func `is created, with a session at once or after a mail`() async throws {
    let session = manager()
    let later = try await session.signUp(email: "new@example.org", password: "p", username: "ada")
    #expect(later == .confirmationSent)
    #expect(!session.isAuthenticated)
    try await session.confirmSignUp("code", password: "q", remember: false)
    #expect(session.currentUser?.id == AccountID("ada") && desk.calls.last == "confirm code q")
    if case .value(let entry) = await vault.read() { #expect(entry.session == nil) }
    _ = await session.signOut()
    guard case .signedIn = try await session.signUp(email: "a@example.org", password: "p", username: "ada")
    else {
      throw SessionError.cancelled
    }
    #expect(session.currentUser?.id == AccountID("ada"))
  }

  @Test func `accepts a password, Sign in with Apple, or a passkey`() async throws {
    let session = manager()
    try await session.signIn(email: "a@example.org", password: "p")
    #expect(session.currentUser?.id == AccountID("ada"))
    try await session.signInWithApple(AppleCredential(idToken: Secret("jwt"), nonce: "n1"))
    #expect(session.currentUser?.id == AccountID("apple"))
    try await session.signInWithPasskey { options throws(SessionError) in options + Array(" answered".utf8) }
    #expect(session.currentUser?.id == AccountID("ada"))
    #expect(desk.calls == ["sign-in", "apple n1", "passkey options answered"])
  }

  @Test func `is in the audit log with the way of each sign-in, and with each session that ends`() async throws {
    let log = ListAuditLog()
    let session = manager(log)
    try await session.signUp(email: "a@example.org", password: "p", username: "ada")
    try await session.confirmSignUp("code", password: "p")
    try await session.signIn(email: "a@example.org", password: "p")
    try await session.signInAnonymously()
    try await session.upgrade(by: .password(email: "a@example.org", password: Secret("p"), username: "ada"))
    try await session.signInWithApple(AppleCredential(idToken: Secret("jwt"), nonce: "n1"))
    try await session.signInWithPasskey { options throws(SessionError) in options }
    try await session.signIn { [desk] in
      try await SignInTurn.take(by: .browser)
      return try await desk.signIn(email: "a@example.org", password: Secret("p"), code: nil)
    }
    try await session.signIn { [desk] in
      try await desk.signIn(email: "a@example.org", password: Secret("p"), code: nil)
    }
    _ = await session.signOut()
    await session.controller.flushAuditLog()
    #expect(
      log.signIns == [
        "signUp ok ada", "signUp ok ada", "password ok ada", "guest ok g1", "upgrade ok g1", "apple ok apple",
        "passkey ok ada", "browser ok ada", "other ok ada",
      ])
    // All but the last one were replaced.
    let ends = log.entries.filter { $0.action == .end }
    #expect(ends.map { $0.account?.rawValue } == ["ada", "ada", "ada", "g1", "g1", "apple", "ada", "ada"])
    #expect(ends.map(\.outcome) == Array(repeating: "replaced", count: 7) + ["signed_out"])
  }

  @Test func `is in the audit log as far as it is known when a sign-in fails`() async throws {
    let log = ListAuditLog()
    let session = manager(log)
    try await session.signInAnonymously()
    desk.fail(with: .refused(code: "wrong_credentials", detail: "of the server"))
    _ = try? await session.signIn(email: "ada@example.org", password: "p")
    // Typed into the wrong field.
    _ = try? await session.signIn(email: "correct horse", password: "")
    _ = try? await session.signUp(email: "new@example.org", password: "p", username: "ada")
    _ = try? await session.upgrade(by: .password(email: "b@example.org", password: Secret("p"), username: "ada"))
    desk.fail(with: .requestFailed(.network(.timedOut)))
    _ = try? await session.signInWithApple(AppleCredential(idToken: Secret("jwt"), nonce: "n1"))
    await session.controller.flushAuditLog()
    #expect(
      log.signIns == [
        "guest ok g1", "password wrong_credentials ada@example.org", "password wrong_credentials -",
        "upgrade wrong_credentials g1", "upgrade wrong_credentials g1",
        "upgrade \(RequestError.network(.timedOut).code) g1",
      ])
    #expect(!log.entries.contains { "\($0)".contains("horse") || "\($0)".contains("of the server") })
  }

  @Test func `of a guest becomes a full account with the same id`() async throws {
    let session = manager()
    try await session.signInAnonymously()
    #expect(session.isAnonymous)
    try await session.upgrade(by: .password(email: "a@example.org", password: Secret("p"), username: "ada"))
    #expect(session.currentUser?.id == AccountID("g1"))
    #expect(session.isAuthenticated && !session.isAnonymous)
    #expect(desk.calls == ["guest", "upgrade access-guest-0"])
  }

  @Test func `of a guest gets the same id by a sign-up, and by Apple`() async throws {
    for apple in [false, true] {
      let session = SessionManager(backend: desk, vault: MemoryVault(), baseURL: base, clock: clock)
      try await session.signInAnonymously()
      if apple {
        try await session.signInWithApple(AppleCredential(idToken: Secret("jwt"), nonce: "n", name: "Ada"))
      } else {
        try await session.signUp(email: "a@example.org", password: "p", username: "ada")
      }
      #expect(session.currentUser?.id == AccountID("g1") && !session.isAnonymous)
    }
    #expect(
      desk.calls == ["guest", "upgrade access-guest-0", "guest", "upgrade access-guest-0 apple Ada"])
  }

  @Test func `takes over what a guest has before the guest's session ends`() async throws {
    let session = manager()
    try await session.signInAnonymously()
    let (vault, seen) = (vault, Locked<[String]>([]))
    session.mergeGuest = { merge in
      seen.withLock { $0.append("\(merge.guest.profile?.id.rawValue ?? "-") \(merge.account.id) \(merge.token.text)") }
      // Killed here, the program finds the guest.
      guard case .value(let entry) = await vault.read() else { throw Unexpected() }
      #expect(entry.session?.profile?.id == AccountID("g1"))
      if seen.withLock({ $0.count }) == 1 { throw Unexpected() }
    }
    await #expect(throws: SessionError.contentFailed("Unexpected")) { @MainActor in
      try await session.signIn(email: "a@example.org", password: "p")
    }
    #expect(session.isAnonymous)
    try await session.signIn(email: "a@example.org", password: "p")
    #expect(session.currentUser?.id == AccountID("ada") && !session.isAnonymous)
    #expect(seen.withLock { $0 } == ["g1 ada access-in-0", "g1 ada access-in-0"])
    try await session.signIn(email: "a@example.org", password: "p")
    #expect(seen.withLock { $0.count } == 2, "no guest is left")
  }

  @Test func `of a guest that is not remembered stays that way`() async throws {
    let session = manager()
    try await session.signIn(remember: false) { [desk] in try await desk.signInAnonymously() }
    try await session.upgrade(by: .password(email: "a@example.org", password: Secret("p"), username: "ada"))
    #expect(session.isAuthenticated && !session.isAnonymous)
    if case .value(let entry) = await vault.read() { #expect(entry.session == nil) }
  }

  @Test func `has a password that can be changed and reset`() async throws {
    let session = manager()
    try await session.resetPassword(email: "a@example.org")
    await #expect(throws: SessionError.signedOut(nil)) { @MainActor in
      try await session.changePassword(to: "b", proof: .password(Secret("a")))
    }
    try await session.signIn(email: "a@example.org", password: "a")
    try await session.changePassword(to: "b", endingOthers: false, proof: .password(Secret("a")))
    #expect(desk.calls == ["reset", "sign-in", "password false"])
  }

  @Test func `is deleted locally only after the server has deleted it`() async throws {
    let session = manager()
    try await session.signIn(email: "a@example.org", password: "a")
    desk.fail(with: .refused(code: "wrong_credentials", detail: nil))
    await #expect(throws: SessionError.refused(code: "wrong_credentials", detail: nil)) { @MainActor in
      try await session.deleteAccount(proof: .password(Secret("x")))
    }
    #expect(session.isAuthenticated && !session.snapshot.isWorking)
    desk.fail(with: nil)
    let report = try await session.deleteAccount(proof: .password(Secret("a")))
    #expect(report.cleanup.cleared.contains("store"))
    #expect(session.snapshot.endReason == .accountClosed)
  }

  @Test func `is deleted without ending a session that replaced it meanwhile`() async throws {
    let session = manager()
    try await session.signInAnonymously()
    desk.whileDeleting.withLock {
      $0 = { @MainActor in try? await session.signIn(email: "a@example.org", password: "a") }
    }
    let report = try await session.deleteAccount()
    #expect(report.cleanup.cleared.isEmpty)
    #expect(session.currentUser?.id == AccountID("ada"))
  }

  @Test func `is signed out everywhere, and here even if the server is unreachable`() async throws {
    let session = manager()
    try await session.signIn(email: "a@example.org", password: "a")
    #expect(await session.signOutEverywhere().otherSessionsError == nil)
    #expect(desk.calls.last == "end-others")
    try await session.signIn(email: "a@example.org", password: "a")
    desk.fail(with: .requestFailed(.network(.timedOut)))
    #expect(await session.signOutEverywhere().otherSessionsError == .requestFailed(.network(.timedOut)))
    #expect(!session.isAuthenticated)
  }

  @Test func `never stays in progress`() async throws {
    let session = manager()
    desk.fail(with: .requestFailed(.network(.timedOut)))
    _ = try? await session.signUp(email: "a@example.org", password: "p", username: "a")
    _ = try? await session.signIn(email: "a@example.org", password: "p")
    _ = try? await session.signInAnonymously()
    _ = try? await session.signInWithApple(AppleCredential(idToken: Secret("jwt"), nonce: "n"))
    _ = try? await session.resetPassword(email: "a@example.org")
    #expect(!session.snapshot.isWorking)
    #expect(desk.calls.count == 5)
  }

  @Test func `names a feature that the server does not offer`() async throws {
    let session = manager()
    desk.fail(with: .unsupported("guests"))
    await #expect(throws: SessionError.unsupported("guests")) { @MainActor in try await session.signInAnonymously() }
    #expect(!session.isAuthenticated)
  }
}
