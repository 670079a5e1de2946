/// Clean-up after a session has ended, here or in a program that exited before it was done.
extension SessionMachine {
  /// Returns the names of this program's steps that belong to `plan`.
  func steps(of plan: SignOutPlan) -> [String] {
    cleanups.filter { plan.scopes.contains($0.scope) }.map(\.name)
  }

  /// Returns the steps for an end without an explicit plan.
  func steps(for reason: EndReason) -> [String] { steps(of: .standard(for: reason)) }

  /// Adds pending steps, as far as this program can run them.
  mutating func add(_ steps: [String], for ended: EndedSession) {
    let known = Set(cleanups.map(\.name)).intersection(steps)
    let done = doneChores[ended.session] ?? []
    for step in known where !done.contains(step) {
      var chores = self.chores[ended.session] ?? Chores(ended: ended)
      // A new step is tried at once, whatever happened to others.
      if !chores.running.contains(step), chores.failed.insert(step).inserted { chores.attempts = 0 }
      self.chores[ended.session] = chores
    }
  }

  /// Starts every pending step that has not been tried yet; with `again`, also those that failed. Never while a session is, or
  /// may be, in use, because a step might erase its data.
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
      // After that it waits for the network, or the next launch.
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
  /// The longest that a sign-in waits for clean-up steps of former sessions.
  static let holdLimit: Duration = .seconds(10)

  /// Whether a step is running.
  var isCleaning: Bool { chores.values.contains { !$0.running.isEmpty } }
}
