/// The clean-up steps of ended sessions that have not succeeded yet. A small machine beside ``SessionMachine``.
package struct CleanupQueue: Sendable, Hashable {
  /// The steps that this program can run, in this order.
  package let steps: [Cleanup]
  /// By the session that ended.
  package private(set) var pending: [SessionID: Pending] = [:]
  /// Those that have succeeded: a read in progress may still return them.
  private var done: [SessionID: Set<String>] = [:]

  /// The pending clean-up of one ended session.
  package struct Pending: Sendable, Hashable {
    package var ended: EndedSession
    /// Started and not answered.
    package var running: Set<String> = []
    /// Failed; retried later.
    package var failed: Set<String> = []
    var attempts = 0

    /// The names of all its steps.
    var names: [String] { running.union(failed).sorted() }
  }

  init(_ steps: [Cleanup]) { self.steps = steps }

  /// Whether a step is running.
  var isRunning: Bool { pending.values.contains { !$0.running.isEmpty } }

  /// Returns the names of the steps that belong to `plan`.
  func names(of plan: SignOutPlan) -> [String] { steps.filter { plan.scopes.contains($0.scope) }.map(\.name) }

  /// Adds pending steps, as far as this program can run them.
  mutating func add(_ names: [String], for ended: EndedSession) {
    let known = Set(steps.map(\.name)).intersection(names)
    let done = done[ended.id] ?? []
    for name in known where !done.contains(name) {
      // A new step is tried at once, whatever happened to others.
      var entry = pending[ended.id] ?? Pending(ended: ended)
      if !entry.running.contains(name), entry.failed.insert(name).inserted { entry.attempts = 0 }
      pending[ended.id] = entry
    }
  }

  /// Starts every pending step that has not been tried yet; with `again`, also those that failed.
  mutating func start(again: Bool) -> [SessionMachine.Effect] {
    var effects: [SessionMachine.Effect] = []
    for session in pending.keys.sorted() {
      guard var entry = pending[session], again || entry.attempts == 0 else { continue }
      let names = steps.map(\.name).filter(entry.failed.contains)
      guard !names.isEmpty else { continue }
      entry.attempts += 1
      entry.failed = []
      entry.running.formUnion(names)
      pending[session] = entry
      effects += names.map { .clean(entry.ended, step: $0) }
    }
    return effects
  }

  /// A step ended; `false` unless it was running.
  mutating func finish(_ session: SessionID, _ name: String, succeeded: Bool) -> Bool {
    guard var entry = pending[session], entry.running.remove(name) != nil else { return false }
    if !succeeded { entry.failed.insert(name) }
    pending[session] = entry.names.isEmpty ? nil : entry
    guard succeeded else { return true }
    done[session, default: []].insert(name)
    if done.count > 32 { done = done.filter { pending[$0.key] != nil || $0.key == session } }
    return true
  }

  /// The delay of the next attempt; `nil` after the last one, which waits for the network or the next launch.
  func delay(of session: SessionID, entropy: UInt64, by policy: RetryPolicy) -> Duration? {
    guard let attempts = pending[session]?.attempts, attempts < policy.attempts else { return nil }
    return max(.seconds(1), policy.delay(afterAttempt: attempts, entropy: entropy, retryAfter: nil))
  }

  /// The account's user is back: their data stays.
  mutating func keepData(of account: AccountID) { pending = pending.filter { $0.value.ended.account != account } }

  /// The session is signed in to again.
  mutating func forget(_ session: SessionID) {
    pending[session] = nil
    done[session] = nil
  }

  /// A sign-out runs all its steps, also those that have succeeded before.
  mutating func forgetWhatIsDone() { done = [:] }
}
