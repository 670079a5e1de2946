/// Decides whether tokens are available, as a value: reads no clock and asks no user itself. It is closed at first.
///
/// Time is uptime that counts sleep. A clock that runs backward closes the gate: it must not lengthen an interval.
package struct PresenceGate: Sendable, Hashable {
  package let policy: PresencePolicy
  /// When presence was last confirmed; `nil` while closed.
  private var openedAt: Duration?
  /// The latest time seen.
  private var seen: Duration?
  /// The presence check in progress.
  private var question: UInt64?
  private var lastQuestion: UInt64 = 0
  /// How often the gate was closed explicitly.
  private var closings: UInt64 = 0

  package init(_ policy: PresencePolicy) { self.policy = policy }

  /// Admits one call, until the gate is closed explicitly.
  package struct Pass: Sendable, Hashable {
    fileprivate let closings: UInt64
  }

  /// A caller's next step.
  package enum Asked: Sendable, Hashable {
    /// Ask the user, under this number.
    case begin(UInt64)
    /// Wait for the check in progress.
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

  /// Returns how long the gate stays open; `nil` if it is closed, or stays open without limit.
  package mutating func remaining(at uptime: Duration) -> Duration? {
    guard isOpen(at: uptime), case .window(let length) = policy, let openedAt else { return nil }
    return length - (uptime - openedAt)
  }

  package mutating func state(at uptime: Duration) -> PresenceState {
    if isOpen(at: uptime) { return .open }
    return question == nil ? .locked : .confirming
  }

  /// Returns a pass for a call at this moment; `nil` while the gate is closed.
  package mutating func pass(at uptime: Duration) -> Pass? {
    isOpen(at: uptime) ? Pass(closings: closings) : nil
  }

  package func accepts(_ pass: Pass) -> Bool { pass.closings == closings }

  /// Requests a presence check. Concurrent callers share one check.
  package mutating func ask() -> Asked {
    if question != nil { return .join }
    lastQuestion += 1
    question = lastQuestion
    return .begin(lastQuestion)
  }

  /// Records a confirmation: returns a pass for all callers that waited, or `nil` if the check was withdrawn.
  package mutating func confirmed(_ number: UInt64, at uptime: Duration) -> Pass? {
    guard end(number) else { return nil }
    seen = max(seen ?? uptime, uptime)
    switch policy {
    case .window, .untilExit: openedAt = uptime
    case .never, .perUse: break
    }
    return Pass(closings: closings)
  }

  /// Records a refusal. Returns `false` if the check was withdrawn.
  @discardableResult
  package mutating func end(_ number: UInt64) -> Bool {
    guard question == number else { return false }
    question = nil
    return true
  }

  /// Withdraws the check: no caller waits any more.
  package mutating func takeBack() { question = nil }

  /// Closes the gate at once, also for calls in progress.
  package mutating func close() {
    openedAt = nil
    question = nil
    closings += 1
  }
}

/// Whether tokens are available without a presence check.
public enum PresenceState: Sendable, Hashable {
  /// The user must confirm their presence first.
  case locked
  /// The user is being asked.
  case confirming
  /// Presence was confirmed; tokens are available.
  case open
}
