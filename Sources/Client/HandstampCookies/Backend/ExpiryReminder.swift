public import HandstampCore

/// Decides when to remind a user that their cookie is about to expire: not too early, and not at every launch.
public struct ExpiryReminder: Sendable, Hashable, Codable {
  /// How long before the expiry the first reminder is shown.
  public var ahead: Duration
  /// The shortest time between two reminders.
  public var pause: Duration
  /// When the last reminder was shown; `nil` if none was.
  public private(set) var shownAt: UnixTime?

  public init(
    ahead: Duration = .seconds(7 * 86_400), pause: Duration = .seconds(2 * 86_400), shownAt: UnixTime? = nil
  ) {
    self.ahead = ahead
    self.pause = pause
    self.shownAt = shownAt
  }

  /// Returns the remaining time if a reminder is due, and records it as shown; `nil` otherwise. The app stores the reminder.
  ///
  /// A clock that was set back does not silence it for longer than ``pause``.
  public mutating func due(expiry: UnixTime?, at now: UnixTime) -> Duration? {
    guard let left = expiry?.since(now), left > .zero, left < ahead else { return nil }
    if let shownAt, shownAt <= now, now.since(shownAt) < pause { return nil }
    shownAt = now
    return left
  }
}
