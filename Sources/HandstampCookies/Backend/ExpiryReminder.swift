public import HandstampCore

/// When to tell a person that their cookie will end: not too early, and not at every launch.
public struct ExpiryReminder: Sendable, Hashable, Codable {
  /// How long before the end the first one comes.
  public var ahead: Duration
  /// The least time between two.
  public var pause: Duration
  /// When the last one was shown. Nothing: none yet.
  public private(set) var shownAt: UnixTime?

  public init(
    ahead: Duration = .seconds(7 * 86_400), pause: Duration = .seconds(2 * 86_400), shownAt: UnixTime? = nil
  ) {
    self.ahead = ahead
    self.pause = pause
    self.shownAt = shownAt
  }

  /// How much time is left, if that is to be said now; then it counts as shown. The app keeps the reminder.
  ///
  /// A clock that was set back does not silence it for longer than ``pause``.
  public mutating func due(expiry: UnixTime?, at now: UnixTime) -> Duration? {
    guard let left = expiry?.since(now), left > .zero, left < ahead else { return nil }
    if let shownAt, shownAt <= now, now.since(shownAt) < pause { return nil }
    shownAt = now
    return left
  }
}
