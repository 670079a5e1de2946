import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

/// The calls to a session's ports, in order, and the session's state at that moment.
private final class Trace: Sendable {
  private let content = Locked<[String]>([])
  private let session = Locked<SessionController?>(nil)

  var lines: [String] { content.withLock { $0 } }

  func watch(_ controller: SessionController) { session.withLock { $0 = controller } }

  func note(_ what: String) {
    let state = session.withLock { $0 }?.state
    content.withLock { $0.append("\(what), \(state?.isSignedIn == true ? "signed in" : "not signed in")") }
  }
}

private struct TracedVault: Vault {
  let base = MemoryVault()
  let trace: Trace

  @concurrent func load() async -> VaultReading { await base.load() }

  @concurrent func replace(
    _ revision: UInt64, with entry: VaultEntry, as write: VaultWrite
  ) async throws(VaultError) -> VaultReplacement {
    let result = try await base.replace(revision, with: entry, as: write)
    if result == .done, entry.session != nil { trace.note("stored") }
    return result
  }

  @concurrent func lock(_ kind: VaultLockKind, within limit: Duration) async throws(VaultError) -> any VaultLock {
    try await base.lock(kind, within: limit)
  }

  func changes() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
}

private struct TracedAudit: AuditLog {
  let trace: Trace
  @concurrent func record(_ entry: AuditEntry) async { if entry.action.method != nil { trace.note("audited") } }
}

@Suite(.timeLimit(.minutes(10))) struct `A sign-in as seen by its ports` {
  @Test(arguments: [true, false])
  func `is stored before it is published, and audited after`(isRemembered: Bool) async throws {
    let trace = Trace()
    let session = SessionController(
      backend: ScriptedBackend.rotating(), vault: TracedVault(trace: trace),
      policy: SessionPolicy(idleLimit: .seconds(900)), clock: ManualClock(), audit: TracedAudit(trace: trace))
    trace.watch(session)
    var states = session.states.makeAsyncIterator()
    _ = await states.next()
    try await session.signIn(remember: isRemembered) { .sample(0) }
    while let state = await states.next(), !state.isSignedIn {}
    trace.note("answered")
    // The audit log has its own writer, which gets the entries in order.
    await othersFirst { trace.lines.count >= (isRemembered ? 3 : 2) }
    let stored = isRemembered ? ["stored, not signed in"] : []
    #expect(trace.lines.filter { !$0.hasPrefix("answered") } == stored + ["audited, signed in"])
    #expect(trace.lines.contains("answered, signed in"))
  }
}
