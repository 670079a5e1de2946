import Handstamp
import HandstampCore
import HandstampTesting
import HandstampVaults
import Testing

/// What the ports of a session saw, in order, and what the session showed at that moment.
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

  @concurrent func lock(within limit: Duration) async throws(VaultTrouble) -> any FlightLock {
    try await base.lock(within: limit)
  }
}

private struct TracedAudit: AuditLog {
  let trace: Trace
  @concurrent func record(_ entry: AuditEntry) async { if entry.action == .signIn { trace.note("audited") } }
}

@Suite struct `A sign-in, as its ports see it` {
  @Test(arguments: [true, false])
  func `is stored before anybody is shown as signed in, and audited after`(isRemembered: Bool) async throws {
    let trace = Trace()
    let session = SessionController(
      vault: TracedVault(trace: trace), backend: ScriptedBackend.rotating(),
      policy: SessionPolicy(idleLimit: .seconds(900)), clock: ManualClock(), audit: TracedAudit(trace: trace))
    trace.watch(session)
    var states = session.states.makeAsyncIterator()
    _ = await states.next()
    try await session.signIn(remember: isRemembered) { .sample(0) }
    while let state = await states.next(), !state.isSignedIn {}
    trace.note("answered")
    // The audit log has a writer of its own; what it is given is in order.
    while trace.lines.count < (isRemembered ? 3 : 2) { await othersFirst() }
    let stored = isRemembered ? ["stored, not signed in"] : []
    #expect(trace.lines.filter { !$0.hasPrefix("answered") } == stored + ["audited, signed in"])
    #expect(trace.lines.contains("answered, signed in"))
  }
}
