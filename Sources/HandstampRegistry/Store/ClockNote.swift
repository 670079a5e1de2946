public import HandstampCore

/// What the clock of the servers on one store was last seen to show: the next start, and each server beside, tells by it a clock
/// that jumped, and whether that is settled.
public struct ClockNote: Sendable, Hashable {
  /// The time that counted.
  public var at: UnixTime
  /// Since when the clock has shown another time than the one that counts; `nil` while the two are the same.
  public var doubtedSince: UnixTime?
  /// One more with every note. A store whose note has a smaller one than before went back in time.
  public var revision: Int64

  public init(at: UnixTime, doubtedSince: UnixTime? = nil, revision: Int64 = 0) {
    self.at = at
    self.doubtedSince = doubtedSince
    self.revision = revision
  }
}
