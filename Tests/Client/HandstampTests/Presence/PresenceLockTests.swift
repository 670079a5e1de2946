import HandstampSupport
import HandstampTesting
import Testing

@testable import Handstamp

@Suite(.timeLimit(.minutes(10))) struct `A session behind a presence lock` {
  let clock = ManualClock()
  let backend = ScriptedBackend.rotating()

  /// A signed-in session with a closed lock.
  private func session(
    _ person: ScriptedPresence, _ policy: PresencePolicy, audit: (any AuditLog)? = nil, vault: (any Vault)? = nil
  ) async throws -> (SessionController, PresenceLock) {
    let lock = PresenceLock(person, policy: policy, reason: "to read", clock: clock)
    let session = SessionController(
      backend: backend, vault: vault ?? MemoryVault(), policy: quiet, clock: clock, audit: audit, presence: lock)
    try await session.signIn { .sample(0) }
    return (session, lock)
  }

  @Test(arguments: [PresencePolicy.window(.seconds(60)), .untilExit])
  func `hands out nothing until presence is confirmed, then everything`(policy: PresencePolicy) async throws {
    let person = ScriptedPresence()
    let (session, lock) = try await session(person, policy)
    #expect(session.state.isSignedIn && session.authorizationHeader == nil && lock.state == .locked)
    #expect(try await session.token().text == "access-s1-0")
    #expect(session.authorizationHeader == "Bearer access-s1-0" && lock.state == .open)
    #expect(try await session.token().text == "access-s1-0")
    #expect(person.reasons == ["to read"])
    lock.lock()
    #expect(session.authorizationHeader == nil && lock.state == .locked)
    _ = try await session.token()
    #expect(person.reasons.count == 2)
  }

  @Test func `asks at every use if so configured, and gives no header`() async throws {
    let person = ScriptedPresence()
    let (session, lock) = try await session(person, .perUse)
    for count in 1...3 {
      _ = try await session.token()
      #expect(person.reasons.count == count)
      #expect(session.authorizationHeader == nil && lock.state == .locked)
    }
    clock.advance(by: .seconds(10))
    _ = try await session.token(replacing: AccessToken("access-s1-0"))
    #expect(person.reasons.count == 4)
  }

  @Test func `never asks if so configured`() async throws {
    let person = ScriptedPresence()
    let (session, lock) = try await session(person, .never)
    #expect(session.authorizationHeader != nil && lock.state == .open)
    _ = try await session.token()
    #expect(person.reasons.isEmpty)
  }

  @Test func `closes when its time has passed, sleep included, and reports it`() async throws {
    let person = ScriptedPresence()
    let (session, lock) = try await session(person, .window(.seconds(60)))
    var states = lock.states.makeAsyncIterator()
    #expect(await states.next() == .locked)
    _ = try await session.token()
    #expect(await states.next() == .confirming)
    #expect(await states.next() == .open)
    await clock.sleepers(1)
    clock.advance(by: .seconds(60) - .nanoseconds(1))
    #expect(session.authorizationHeader != nil)
    clock.advance(by: .nanoseconds(1))
    #expect(session.authorizationHeader == nil)
    #expect(await states.next() == .locked)
  }

  @Test(arguments: [PresencePolicy.perUse, .window(.seconds(60)), .untilExit])
  func `asks once for any number of callers, and serves them all`(policy: PresencePolicy) async throws {
    let gate = Gate()
    let person = ScriptedPresence { _ in
      await gate.wait()
      return nil
    }
    let (session, lock) = try await session(person, policy)
    let callers = (0..<100).map { _ in Task { try await session.token().text } }
    await othersFirst { lock.content.withLock({ $0.waiters.count }) >= 100 }
    #expect(lock.state == .confirming)
    gate.open()
    for caller in callers { #expect(try await caller.value == "access-s1-0") }
    #expect(person.reasons.count == 1)
  }

  @Test func `refuses all waiting callers with a recovery; the next call asks again`() async throws {
    let gate = Gate()
    let person = ScriptedPresence { number in
      await gate.wait()
      return number == 1 ? .declined : nil
    }
    let (session, lock) = try await session(person, .untilExit)
    let callers = (0..<10).map { _ in
      Task { () -> Recovery? in
        do throws(SessionError) {
          _ = try await session.token()
          return nil
        } catch { return error == .presence(.declined) ? error.recovery : nil }
      }
    }
    await othersFirst { lock.content.withLock({ $0.waiters.count }) >= 10 }
    gate.open()
    for caller in callers { #expect(await caller.value == .confirmPresence) }
    #expect(session.state.isSignedIn && lock.state == .locked)
    _ = try await session.token()
    #expect(person.reasons.count == 2)
  }

  @Test func `lets each caller cancel alone, and withdraws the prompt with the last one`() async throws {
    let gate = Gate()
    let person = ScriptedPresence { _ in
      // Also once the prompt is cancelled.
      await Task { await gate.wait() }.value
      return nil
    }
    let (session, lock) = try await session(person, .untilExit)
    let callers = (0..<3).map { _ in Task { try await session.token().text } }
    await othersFirst { lock.content.withLock({ $0.waiters.count }) >= 3 }
    await gate.arrivals(1)
    for caller in callers.prefix(2) {
      caller.cancel()
      await #expect(throws: SessionError.cancelled) { try await caller.value }
    }
    #expect(lock.state == .confirming)
    callers[2].cancel()
    await #expect(throws: SessionError.cancelled) { try await callers[2].value }
    #expect(lock.state == .locked)
    // A late answer opens nothing; the next prompt waits until this one is gone.
    let next = Task { try await session.token().text }
    await othersFirst { lock.content.withLock({ $0.waiters.count }) >= 1 }
    #expect(person.reasons.count == 1)
    gate.open()
    #expect(try await next.value == "access-s1-0")
    #expect(person.reasons.count == 2 && person.mostAtOnce == 1)
  }

  @Test func `does not open for an answer that arrives after it was closed`() async throws {
    let gate = Gate()
    let person = ScriptedPresence { _ in
      await gate.wait()
      return nil
    }
    let (session, lock) = try await session(person, .untilExit)
    let caller = Task { try await session.token() }
    await gate.arrivals(1)
    lock.lock()
    await #expect(throws: SessionError.presence(.cancelled)) { try await caller.value }
    let asking = lock.content.withLock { $0.asking }
    gate.open()
    await asking?.value
    #expect(lock.state == .locked && session.authorizationHeader == nil)
  }

  @Test func `withholds a token that was being delivered when the lock closed`() async throws {
    let gate = Gate()
    let backend = ScriptedBackend.held(by: gate)
    let person = ScriptedPresence { number in number == 1 ? nil : .declined }
    let lock = PresenceLock(person, policy: .untilExit, reason: "to read", clock: clock)
    let session = SessionController(
      backend: backend, vault: MemoryVault(), policy: quiet, clock: clock, presence: lock)
    try await session.signIn { .sample(0) }
    try await lock.unlock()
    let caller = Task { try await session.token(replacing: AccessToken("access-s1-0")) }
    // Old enough for a refresh, which is in flight when the lock closes.
    clock.advance(by: .seconds(3600))
    let second = Task { try await session.token() }
    await gate.arrivals(1)
    lock.lock()
    gate.open()
    await #expect(throws: SessionError.presence(.declined)) { try await second.value }
    _ = await caller.result
    // It was refreshed all the same.
    #expect(backend.calls.count == 1)
  }

  @Test func `does not ask if there is nothing to hand out`() async throws {
    let person = ScriptedPresence()
    let (session, _) = try await session(person, .untilExit)
    _ = await session.signOut()
    await #expect(throws: SessionError.signedOut(.signedOut)) { try await session.token() }
    #expect(person.reasons.isEmpty)
  }

  @Test func `refreshes and signs out behind a closed lock`() async throws {
    let person = ScriptedPresence { _ in .declined }
    let lock = PresenceLock(person, policy: .untilExit, reason: "to read", clock: clock)
    let gate = Gate()
    let session = SessionController(
      backend: ScriptedBackend.held(by: gate), vault: MemoryVault(), policy: SessionPolicy(), clock: clock,
      presence: lock)
    try await session.signIn { .sample(0) }
    await clock.sleepers(1)
    clock.advance(by: .seconds(590))
    await gate.arrivals(1)
    gate.open()
    _ = await session.signOut()
    #expect(session.state.isSignedOut && person.reasons.isEmpty)
  }

  @Test func `opens the vault that the confirmation unlocks`() async throws {
    let vault = FaultyVault(MemoryVault())
    let person = ScriptedPresence { _ in
      await vault.set { $0.reading = nil }
      return nil
    }
    _ = await vault.edit(.begin(VaultSamples.session()))
    await vault.set { $0.reading = .trouble(.locked) }
    let lock = PresenceLock(person, policy: .untilExit, reason: "to read", clock: clock)
    let session = SessionController(backend: backend, vault: vault, policy: quiet, clock: clock, presence: lock)
    await first(session.states) { $0 == .unavailable(.storage(.locked)) }
    _ = try await session.token()
    #expect(session.state.isSignedIn && person.reasons.count == 1)
  }

  @Test func `records every prompt once`() async throws {
    let log = ListAuditLog()
    let person = ScriptedPresence { $0 == 1 ? .lockedOut(retryAfter: .seconds(30)) : nil }
    let (session, _) = try await session(person, .untilExit, audit: log)
    await #expect(throws: SessionError.presence(.lockedOut(retryAfter: .seconds(30)))) { try await session.token() }
    _ = try await session.token()
    _ = try await session.token()
    await session.flushAuditLog()
    let entries = log.entries.filter { $0.action == .presence }
    #expect(entries.map(\.outcome) == ["locked_out", "ok"])
    #expect(entries.allSatisfy { $0.session != nil && $0.account != nil })
  }

  @Test func `shares its lock with another session`() async throws {
    let person = ScriptedPresence()
    let (session, lock) = try await session(person, .untilExit)
    let other = SessionController(
      backend: backend, vault: MemoryVault(), policy: quiet, clock: clock, presence: lock)
    try await other.signIn { .sample(0) }
    _ = try await session.token()
    #expect(other.authorizationHeader != nil && person.reasons.count == 1)
  }
}
