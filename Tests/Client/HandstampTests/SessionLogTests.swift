import Handstamp
import HandstampSupport
import HandstampTesting
import Logging
import Testing

/// Log lines, as `message key=value …` with the keys in order.
private struct Lines: LogHandler {
  let lines: Locked<[String]>
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.trace

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let values = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0)=\($1)" }
    lines.withLock { $0.append(([event.message.description] + values).joined(separator: " ")) }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The log of a session` {
  private let clock = ManualClock()
  private let lines = Locked<[String]>([])
  private var logger: Logger { Logger(label: "test") { [lines] _ in Lines(lines: lines) } }

  private func controller(_ backend: ScriptedBackend, _ vault: any Vault = MemoryVault()) -> SessionController {
    SessionController(
      backend: backend, vault: vault,
      policy: SessionPolicy(
        refresh: RefreshPolicy(usesTimer: false), retry: RetryPolicy(attempts: 2, base: .zero)), clock: clock,
      logger: logger)
  }

  private var messages: [String] { lines.withLock { $0 } }

  @Test func `says why a user was signed out`() async throws {
    let backend = ScriptedBackend { call, _, _ in
      call == 1
        ? .noDecision(.server(.init(status: 503, error: "busy", detail: "the-servers-own-words")), retryAfter: .zero)
        : .rejected(.revoked)
    }
    let session = controller(backend)
    try await session.signIn { .sample(0) }
    clock.advance(by: .seconds(3600))
    await #expect(throws: SessionError.sessionEnded(.revoked)) { try await session.token() }
    let told = messages.filter { $0.contains("Refresh") || $0.contains("Session ended") }
    #expect(
      told.map { $0.replacing("handstamp.", with: "") }.filter { !$0.contains("delayed") } == [
        "Refresh begun attempt=1", "Refresh undecided cause=server_error retry_after=0.0 seconds status=503",
        "Refresh begun attempt=2", "Refresh rejected reason=revoked", "Session ended outcome=revoked session=s1",
      ])
  }

  @Test func `names the scopes of a sign-out that have no step, once`() async throws {
    let session = controller(.rotating())
    for _ in 0..<2 {
      try await session.signIn { .sample(0) }
      #expect(await session.signOut().scopesWithoutStep == [.cookies, .preferences, .requestCache])
    }
    let line = "Nothing to clear these scopes handstamp.scopes=cookies preferences request_cache"
    #expect(messages.filter { $0.hasPrefix("Nothing") } == [line])
  }

  @Test func `holds no secret, and not the server's own words`() async throws {
    let backend = ScriptedBackend { _, _, _ in
      .noDecision(.configuration(.init(status: 401, error: "invalid_client", detail: "the-servers-own-words")))
    }
    let session = controller(backend)
    let tokens = TokenResponse.sample(0)
    try await session.signIn(with: tokens, by: .init(.password))
    clock.advance(by: .seconds(3600))
    await #expect(throws: SessionError.self) { try await session.token() }
    await session.signOut()
    #expect(await session.waitForRevocations(timeout: .seconds(60)))
    let text = messages.joined(separator: "\n")
    #expect(text.contains("Refresh undecided handstamp.cause=invalid_client handstamp.status=401"))
    #expect(text.contains("Revocation delivered"))
    for secret in [tokens.tokens.access?.secret, tokens.tokens.refresh?.secret, tokens.revocation?.secret] {
      #expect(secret.map { secret in secret.withExposed { !text.contains($0) } } ?? false)
    }
    #expect(!text.contains("the-servers-own-words"))
  }

  @Test func `reports a vault that cannot be written`() async throws {
    let vault = FaultyVault(MemoryVault())
    let session = controller(ScriptedBackend.rotating(), vault)
    try await session.signIn { .sample(0) }
    await vault.set { $0.editing = .full("disk full") }
    clock.advance(by: .seconds(3600))
    await #expect(throws: SessionError.storage(.full("disk full"))) { try await session.token() }
    #expect(messages.contains("Vault not writable handstamp.cause=storage_full"))
  }
}

@Suite(.timeLimit(.minutes(10))) struct `Refreshes as events` {
  private let clock = ManualClock()

  @Test func `report success, and failure with its cause`() async throws {
    let vault = MemoryVault()
    let failure = RequestError.network(.notConnected("refused"))
    let backend = ScriptedBackend { call, _, _ in call == 1 ? .granted(.sample(1)) : .noDecision(failure) }
    let session = SessionController(
      backend: backend, vault: vault, policy: SessionPolicy(retry: RetryPolicy(attempts: 1)), clock: clock)
    try await session.signIn { .sample(0) }
    var events = session.refreshes().makeAsyncIterator()
    clock.advance(by: .seconds(3600))
    _ = try await session.token()
    #expect(await events.next() == RefreshEvent(sessionID: "s1"))
    clock.advance(by: .seconds(3600))
    await #expect(throws: SessionError.requestFailed(failure)) { try await session.token() }
    #expect(await events.next() == RefreshEvent(sessionID: "s1", error: .requestFailed(failure)))
  }

  @Test func `report tokens that could not be stored as a failure`() async throws {
    let vault = FaultyVault(MemoryVault())
    let session = SessionController(
      backend: ScriptedBackend.rotating(), vault: vault, policy: quiet, clock: clock)
    try await session.signIn { .sample(0) }
    var events = session.refreshes().makeAsyncIterator()
    await vault.set { $0.failing = { $1 == .response ? .full("disk full") : nil } }
    clock.advance(by: .seconds(3600))
    _ = try? await session.token()
    guard case .storage(.full)? = await events.next()?.error else {
      Issue.record("no error")
      return
    }
  }

  @Test func `report the tokens of another process`() async throws {
    let vault = MemoryVault()
    let policy = SessionPolicy(refresh: RefreshPolicy(usesTimer: false))
    let one = SessionController(backend: ScriptedBackend.rotating(), vault: vault, policy: policy, clock: clock)
    try await one.signIn { .sample(0) }
    let other = SessionController(backend: ScriptedBackend.rotating(), vault: vault, policy: policy, clock: clock)
    var events = other.refreshes().makeAsyncIterator()
    #expect(await other.states.first { $0 != .restoring } == one.state)
    clock.advance(by: .seconds(3600))
    let token = try await one.token()
    #expect(try await other.token() == token)
    #expect(await events.next() == RefreshEvent(sessionID: "s1", wasByAnotherProcess: true))
    // Its own refresh is not another's.
    clock.advance(by: .seconds(3600))
    _ = try await other.token()
    #expect(await events.next() == RefreshEvent(sessionID: "s1"))
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A sign-in's own result` {
  private struct WrongCaptcha: Error, Equatable { var attempts: Int }
  private let clock = ManualClock()

  @Test func `is thrown as it was if the app's own code fails`() async throws {
    let session = SessionController(backend: ScriptedBackend.rotating(), vault: MemoryVault(), clock: clock)
    await #expect(throws: WrongCaptcha(attempts: 3)) { try await session.signIn { throw WrongCaptcha(attempts: 3) } }
    for await state in session.states where state != .restoring {
      #expect(state == .signedOut(nil))
      break
    }
  }

  @Test func `may lack a profile, and then may be any person's: the previous user's data is erased`() async throws {
    let vault = MemoryVault()
    let cleared = Locked<[String]>([])
    let session = SessionController(
      backend: ScriptedBackend.rotating(), vault: vault, clock: clock,
      cleanups: [CleanupStep("database", .always) { _ in cleared.withLock { $0.append("database") } }])
    try await session.signIn(with: .sample(0), by: .init(.password))
    var unknown = TokenResponse.sample(0, session: "s2")
    unknown.profile = nil
    let facts = try await session.signIn(with: unknown, by: .init(.password))
    #expect(facts.profile == nil && facts.id == "s2")
    #expect(cleared.withLock { $0 } == ["database"])
    // Stored and restored without one.
    let relaunched = SessionController(backend: ScriptedBackend.rotating(), vault: vault, clock: clock)
    for await state in relaunched.states where state != .restoring {
      #expect(state == .signedIn(facts))
      break
    }
    // Nor is it known that the next one is the same person.
    var eve = TokenResponse.sample(0, session: "s3")
    eve.profile = Profile(id: "eve", name: "Eve")
    try await session.signIn(with: eve, by: .init(.password))
    #expect(cleared.withLock { $0 } == ["database", "database"])
    // But a named one is.
    eve.sessionID = "s4"
    try await session.signIn(with: eve, by: .init(.password))
    #expect(cleared.withLock { $0 }.count == 2)
  }
}
