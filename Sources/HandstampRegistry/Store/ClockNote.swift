public import HandstampCore

/// The last clock reading of the servers on one store. From it, the next start and the other servers detect a clock that
/// jumped, and whether the jump is settled.
public struct ClockNote: Sendable, Hashable {
  /// The server time of the reading.
  public var at: UnixTime
  /// Since when the system clock has differed from the server time; `nil` while they agree.
  public var doubtedSince: UnixTime?
  /// Incremented by every note; 0 in the first one. A smaller revision than before means that the store was rolled back.
  public var revision: Int64

  public init(at: UnixTime, doubtedSince: UnixTime? = nil, revision: Int64 = 0) {
    self.at = at
    self.doubtedSince = doubtedSince
    self.revision = revision
  }

  /// Returns the revision of the note after `former`.
  public static func revision(after former: ClockNote?) -> Int64 { former.map { $0.revision &+ 1 } ?? 0 }
}
