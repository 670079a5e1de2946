/// When a refresh token is presented again at a server without rotation keys, after a request that brought no usable response.
///
/// All time limits of such repeats are here; `docs/time-limits.md` has the inequalities that they keep.
package struct RepeatRule: Sendable, Hashable {
  /// The pause after an exchange that is over, or whose sender has ended. The first is between this and twice as long.
  package static let pause: Duration = .seconds(1)
  /// The longest such pause.
  package static let longestPause: Duration = .seconds(30)
  /// How often a process that waits for another one looks whether that has ended.
  package static let look: Duration = .seconds(2)
  /// The parts of a known overlap. One response is awaited for a part, so that two may be lost in a row.
  package static let parts = 3

  /// The known facts about the server; `nil` for none.
  package var reuse: RefreshTokenReuse?
  /// ``RefreshPolicy/responseTimeout``.
  package var timeout: Duration

  package init(reuse: RefreshTokenReuse?, timeout: Duration) {
    self.reuse = reuse
    self.timeout = timeout
  }

  /// How long a response is awaited that may still arrive.
  ///
  /// - Parameter age: the time since the token was presented first; `nil` if that is unknown.
  package func patience(sinceFirst age: Duration?) -> Duration {
    switch reuse {
    case .overlap(let overlap) where remains(of: overlap, after: age) != nil:
      min(max(.seconds(1), overlap / RepeatRule.parts), timeout / 3)
    case .predecessor: timeout / 3
    case .notRotated: timeout / 6
    case .overlap, .never, nil: timeout
    }
  }

  /// The pause before the repeat number `number` of an exchange that is over: exponential, with jitter; within a known overlap at
  /// most a third of what is left of it. A server's `Retry-After` counts instead, if it ends inside a known overlap, or from the
  /// second repeat on.
  package func pause(
    before number: Int, sinceFirst age: Duration?, retryAfter: Duration?, entropy: UInt64
  ) -> Duration {
    let factor = (1 << min(max(number - 1, 0), 10))
    let jitter = 1 + Double(entropy >> 11) / Double(1 << 53)
    let pause = min(RepeatRule.pause * factor * jitter, RepeatRule.longestPause)
    guard case .overlap(let overlap) = reuse, let left = remains(of: overlap, after: age) else {
      guard let retryAfter, number > 1 || isPatient else { return pause }
      return min(max(pause, retryAfter), RepeatRule.longestPause)
    }
    if let retryAfter, retryAfter < left / 2 { return retryAfter }
    return min(pause, left / RepeatRule.parts)
  }

  /// Whether a later repeat is as good as an early one.
  private var isPatient: Bool {
    switch reuse {
    case .notRotated, .predecessor: true
    case .overlap, .never, nil: false
    }
  }

  /// Whether a repeat is accepted as long as the known overlap lasts.
  package func isTolerated(sinceFirst age: Duration?) -> Bool {
    switch reuse {
    case .overlap(let overlap): remains(of: overlap, after: age) != nil
    case .notRotated, .predecessor: true
    case .never, nil: false
    }
  }

  private func remains(of overlap: Duration, after age: Duration?) -> Duration? {
    guard let age, age < overlap else { return nil }
    return overlap - age
  }
}
