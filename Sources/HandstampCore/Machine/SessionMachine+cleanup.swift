/// What is done after a session has ended, here or in a program that did not live to do it.
extension SessionMachine {
  /// The names of this program's steps that belong to `plan`.
  func steps(of plan: SignOutPlan) -> [String] {
    cleanups.filter { plan.scopes.contains($0.scope) }.map(\.name)
  }

  /// The steps when nobody chose a plan.
  func steps(for reason: EndReason) -> [String] { steps(of: .standard(for: reason)) }

  /// Takes note of steps that are to be done, as far as this program can do them.
  mutating func add(_ steps: [String], for ended: EndedSession) {
    let known = Set(cleanups.map(\.name)).intersection(steps)
    let done = doneChores[ended.session] ?? []
    for step in known where !done.contains(step) {
      var chores = self.chores[ended.session] ?? Chores(ended: ended)
      // One that is new is tried at once, whatever became of others.
      if !chores.running.contains(step), chores.failed.insert(step).inserted { chores.attempts = 0 }
      self.chores[ended.session] = chores
    }
  }

  /// Asks for every step that is to be done and was not tried yet; with `again`, for those that failed as well. Never while a
  /// session is in use, or may be, whose things it might take.
  mutating func clean(again: Bool = false) -> [Effect] {
    switch phase {
    case .dormant, .restoring, .live, .unavailable: return []
    case .signedOut, .ending: break
    }
    var effects: [Effect] = []
    for session in chores.keys.sorted() {
      guard var chores = chores[session], again || chores.attempts == 0 else { continue }
      let steps = cleanups.map(\.name).filter(chores.failed.contains)
      guard !steps.isEmpty else { continue }
      chores.attempts += 1
      chores.failed = []
      chores.running.formUnion(steps)
      self.chores[session] = chores
      effects += steps.map { .clean(chores.ended, step: $0) }
    }
    return effects
  }

  mutating func cleaned(
    _ session: SessionID, _ step: String, succeeded: Bool, entropy: UInt64, at now: Moment
  ) -> [Effect] {
    guard var chores = chores[session], chores.running.remove(step) != nil else { return [.ignored] }
    guard succeeded else {
      chores.failed.insert(step)
      self.chores[session] = chores
      // After these it waits for the network, or the next launch.
      guard chores.attempts < policy.retry.attempts else { return proceed(at: now) }
      let delay = policy.retry.delay(afterAttempt: chores.attempts, entropy: entropy, retryAfter: nil)
      return [startTimer(.clean, after: max(.seconds(1), delay))] + proceed(at: now)
    }
    self.chores[session] = chores.running.isEmpty && chores.failed.isEmpty ? nil : chores
    doneChores[session, default: []].insert(step)
    if doneChores.count > 32 { doneChores = doneChores.filter { self.chores[$0.key] != nil || $0.key == session } }
    return [edit(.cleaned(session, steps: [step]), for: .cleaned)] + proceed(at: now)
  }
}

extension SessionMachine {
  /// The most that a sign-in waits for clean-up steps of former sessions.
  static let holdLimit: Duration = .seconds(10)

  /// Whether a step is under way.
  var isCleaning: Bool { chores.values.contains { !$0.running.isEmpty } }
}
