public import HandstampCore

/// What a server's clock was last seen to show, kept so that the next start can tell a clock that jumped.
public struct ClockNote: Sendable, Hashable {
  /// The time that counted.
  public var at: UnixTime
  /// When the clock began to show another time than the one that counts; `nil` while the two are the same.
  public var doubtedSince: UnixTime?

  public init(at: UnixTime, doubtedSince: UnixTime? = nil) {
    self.at = at
    self.doubtedSince = doubtedSince
  }
}
