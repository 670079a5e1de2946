import Handstamp
import HandstampCore
import HandstampSupport
import HandstampTesting
import HandstampVaults
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

  @concurrent func read() async -> VaultReading { await base.read() }

  @concurrent func edit(_ edit: VaultEdit) async -> VaultOutcome {
    let outcome = await base.edit(edit)
    if case .done(let entry) = outcome, entry.session != nil { trace.note("stored") }
    return outcome
  }

  @concurrent func lock(within limit: Duration) async throws(VaultError) -> any VaultLock {
    try await base.lock(within: limit)
  }
}

private struct TracedAudit: AuditLog {
  let trace: Trace
  @concurrent func record(_ entry: AuditEntry) async { if entry.action == .signIn { trace.note("audited") } }
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
    while trace.lines.count < (isRemembered ? 3 : 2) { await othersFirst() }
    let stored = isRemembered ? ["stored, not signed in"] : []
    #expect(trace.lines.filter { !$0.hasPrefix("answered") } == stored + ["audited, signed in"])
    #expect(trace.lines.contains("answered, signed in"))
  }
}
