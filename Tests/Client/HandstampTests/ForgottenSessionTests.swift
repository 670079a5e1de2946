import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A session in memory, in front of a vault` {
  /// A vault that fails the writes that a test selects.
  private struct Picky: Vault {
    let base: any Vault
    let fails = Locked<@Sendable (VaultWrite) -> Bool>({ _ in false })

    @concurrent func load() async -> VaultReading { await base.load() }
    @concurrent func replace(
      _ revision: UInt64, with entry: VaultEntry, as write: VaultWrite
    ) async throws(VaultError) -> VaultReplacement {
      if fails.withLock({ $0 })(write) { throw .unavailable("full") }
      return try await base.replace(revision, with: entry, as: write)
    }
    @concurrent func lock(_ kind: VaultLockKind, within limit: Duration) async throws(VaultError) -> any VaultLock {
      try await base.lock(kind, within: limit)
    }
    func changes() -> AsyncStream<Void> { base.changes() }
  }

  private let clock = ManualClock()
  private let backend = ScriptedBackend.rotating()
  private let base = MemoryVault()
  private var vault: Picky { Picky(base: base) }

  private func controller(
    _ vault: any Vault, _ backend: ScriptedBackend? = nil, _ cleanups: [CleanupStep] = []
  ) -> SessionController {
    SessionController(
      backend: backend ?? self.backend, vault: vault, policy: quiet, clock: clock, cleanups: cleanups)
  }

  private func stored() async -> VaultEntry {
    if case .value(let entry) = await base.read() { entry } else { VaultEntry() }
  }

  @Test func `signs out its own user only`() async throws {
    let here = controller(base)
    try await here.signIn(remember: false) { .sample(0) }
    let other = controller(base)
    var theirs = TokenResponse.sample(0, session: "s2")
    theirs.profile = Profile(id: AccountID("bob"), name: "Bob")
    let facts = try await other.signIn { [theirs] in theirs }
    await here.signOut()
    #expect(await stored().session?.profile?.id == facts.profile?.id)
    #expect(await stored().session?.id == SessionID("s2"))
    // Nor does its program continue with the other user's session, unless they sign in again.
    await #expect(throws: SessionError.signedOut(.signedOut)) { try await here.token() }
    #expect(here.state == .signedOut(.signedOut))
    var states = here.states.makeAsyncIterator()
    theirs.sessionID = SessionID("s3")
    try await other.signIn { [theirs] in theirs }
    while let state = await states.next() {
      if case .signedIn(let facts) = state, facts.id == SessionID("s3") { break }
    }
  }

  @Test func `creates no file`() async throws {
    let path = FileManager.default.temporaryDirectory.path + "/handstamp-\(UInt64.random(in: 0 ... .max))"
    let session = controller(SealedFileVault(folder: path, account: AccountID("ada")))
    try await session.signIn(remember: false) {
      try await SignInTurn.take(by: .password)
      return .sample(0)
    }
    #expect(session.authorizationHeader != nil)
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test func `lets the next sign-in use the key that it stored`() async throws {
    let session = controller(vault)
    try await session.signIn(remember: false) { .sample(0) }
    try await session.signIn {
      try await SignInTurn.exchange(by: .init(.password), for: "ada") {
        (key) async throws(SessionError) -> TokenResponse in
        #expect(await stored().signIn?.key == key)
        return .sample(0, session: "s2")
      }
    }
    #expect(await stored().signIn == nil)
  }

  @Test(arguments: [true, false])
  func `continues if the next one cannot be stored`(remember: Bool) async throws {
    let vault = vault
    let session = controller(vault)
    let facts = try await session.signIn(remember: false) { .sample(0) }
    vault.fails.withLock { $0 = { $0 == .begin || $0 == .signOut } }
    await #expect(throws: SessionError.storage(.unavailable("full"))) {
      try await session.signIn(remember: remember) { .sample(0, session: "s2") }
    }
    vault.fails.withLock { $0 = { _ in false } }
    await session.retryPendingWork()
    #expect(await session.waitForRevocations(timeout: .seconds(60)))
    #expect(session.state == .signedIn(facts))
    // Another program that shares the vault would end it as well.
    let other = controller(base)
    #expect(await other.waitForRevocations(timeout: .seconds(60)))
    #expect(backend.revoked == [RevocationHandle("handle-s2")])
    clock.advance(by: .seconds(60))
    _ = try await session.token(replacing: AccessToken("access-s1-0"))
  }

  @Test func `is not revoked just because it was remembered before`() async throws {
    let session = controller(vault)
    _ = try await session.signIn { .sample(0) }
    let facts = try await session.signIn(remember: false) { .sample(0) }
    #expect(await session.waitForRevocations(timeout: .seconds(60)))
    let other = controller(base)
    #expect(await other.waitForRevocations(timeout: .seconds(60)))
    #expect(backend.revoked.isEmpty)
    #expect(session.state == .signedIn(facts))
    #expect(await stored().session == nil)
  }

  @Test func `keeps the same user's remaining data`() async throws {
    struct Full: Error {}
    let done = Locked<[String]>([])
    let isFull = Locked(true)
    let steps = [
      CleanupStep("store", .database) { _ in
        if isFull.withLock({ $0 }) { throw Full() }
        done.withLock { $0.append("store") }
      }
    ]
    let session = controller(vault, nil, steps)
    try await session.signIn { .sample(0) }
    await session.signOut(.everything)
    try await session.signIn(remember: false) { .sample(0, session: "s2") }
    isFull.withLock { $0 = false }
    await session.signOut(.expiry, reason: .expired)
    #expect(done.withLock { $0 }.isEmpty)
    let entry = await stored()
    #expect(entry.tombstones.allSatisfy { $0.steps.isEmpty })
  }

  @Test func `ends for the server's reason, even if that cannot be written at once`() async throws {
    let rejecting = ScriptedBackend { _, _, _ in .rejected(.revoked) }
    let vault = vault
    let session = controller(vault, rejecting)
    try await session.signIn(remember: false) { .sample(0) }
    vault.fails.withLock { $0 = { $0 == .response } }
    clock.advance(by: .seconds(3600))
    await #expect(throws: SessionError.self) { try await session.token() }
    vault.fails.withLock { $0 = { _ in false } }
    await #expect(throws: SessionError.sessionEnded(.revoked)) { try await session.token() }
    #expect(session.state == .signedOut(.revoked))
    #expect(await stored().tombstones.map(\.reason) == [.revoked])
  }
}
