/// Whether tokens may be handed out, as a value: knows no clock and asks nobody itself. It begins closed.
///
/// Time is uptime that counts sleep. A clock that runs back closes the gate: an interval must not become longer by it.
package struct PresenceGate: Sendable, Hashable {
  package let policy: PresencePolicy
  /// When somebody was last shown to be there; nothing while closed.
  private var openedAt: Duration?
  /// The latest time that was seen.
  private var seen: Duration?
  /// The question that is being asked.
  private var question: UInt64?
  private var lastQuestion: UInt64 = 0
  /// How often the gate was closed on purpose.
  private var closings: UInt64 = 0

  package init(_ policy: PresencePolicy) { self.policy = policy }

  /// What lets one call through, until the gate is closed on purpose.
  package struct Pass: Sendable, Hashable {
    fileprivate let closings: UInt64
  }

  /// What a call has to do.
  package enum Asked: Sendable, Hashable {
    /// Put this question to the person.
    case begin(UInt64)
    /// Wait for the question that is being asked.
    case join
  }

  package mutating func isOpen(at uptime: Duration) -> Bool {
    if let seen, uptime < seen { openedAt = nil }
    seen = uptime
    switch policy {
    case .never: return true
    case .perUse: return false
    case .untilExit: return openedAt != nil
    case .window(let length): return openedAt.map { uptime - $0 < length } ?? false
    }
  }

  /// How long the gate stays open yet; nothing when it is closed, or without an end.
  package mutating func remaining(at uptime: Duration) -> Duration? {
    guard isOpen(at: uptime), case .window(let length) = policy, let openedAt else { return nil }
    return length - (uptime - openedAt)
  }

  package mutating func state(at uptime: Duration) -> PresenceState {
    if isOpen(at: uptime) { return .open }
    return question == nil ? .locked : .confirming
  }

  /// A pass for a call that comes now; nothing while the gate is closed.
  package mutating func pass(at uptime: Duration) -> Pass? {
    isOpen(at: uptime) ? Pass(closings: closings) : nil
  }

  package func accepts(_ pass: Pass) -> Bool { pass.closings == closings }

  /// Somebody must be shown to be there. One question serves all who ask while it is open.
  package mutating func ask() -> Asked {
    if question != nil { return .join }
    lastQuestion += 1
    question = lastQuestion
    return .begin(lastQuestion)
  }

  /// They were there: a pass for all who waited. Nothing when the question is not being asked any more.
  package mutating func confirmed(_ number: UInt64, at uptime: Duration) -> Pass? {
    guard end(number) else { return nil }
    seen = max(seen ?? uptime, uptime)
    switch policy {
    case .window, .untilExit: openedAt = uptime
    case .never, .perUse: break
    }
    return Pass(closings: closings)
  }

  /// They were not. False when the question is not being asked any more.
  @discardableResult
  package mutating func end(_ number: UInt64) -> Bool {
    guard question == number else { return false }
    question = nil
    return true
  }

  /// Nobody waits for the answer any more.
  package mutating func takeBack() { question = nil }

  /// Closes the gate: at once, for calls that are on their way as well.
  package mutating func close() {
    openedAt = nil
    question = nil
    closings += 1
  }
}
