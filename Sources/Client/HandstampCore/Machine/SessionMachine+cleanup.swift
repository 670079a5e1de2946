/// Clean-up after a session has ended, here or in a program that exited before it was done.
extension SessionMachine {
  /// The longest that a sign-in waits for clean-up steps of previous sessions.
  static let holdLimit: Duration = .seconds(10)

  /// Returns the steps for an end without an explicit plan.
  func steps(for reason: EndReason) -> [String] { cleanups.names(of: .standard(for: reason)) }

  /// Starts every pending step that has not been tried yet; with `again`, also those that failed. Never while a session is, or
  /// may be, in use, because a step might erase its data.
  mutating func clean(again: Bool = false) -> [Effect] {
    switch phase {
    case .dormant, .restoring, .live, .unavailable: []
    case .signedOut, .ending: cleanups.start(again: again)
    }
  }

  mutating func cleaned(
    _ session: SessionID, _ step: String, succeeded: Bool, entropy: UInt64, at now: Moment
  ) -> [Effect] {
    guard cleanups.finish(session, step, succeeded: succeeded) else { return [.ignored] }
    if succeeded { return [edit(.cleaned(session, steps: [step]), for: .cleaned)] + proceed(at: now) }
    let delay = cleanups.delay(of: session, entropy: entropy, by: policy.retry)
    return (delay.map { [startTimer(.clean, after: $0)] } ?? []) + proceed(at: now)
  }
}
