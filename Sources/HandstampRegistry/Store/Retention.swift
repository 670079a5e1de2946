public import HandstampCore

/// What a store may forget. Only what is over is ever forgotten.
public struct Retention: Sendable, Hashable {
  /// Events before this are forgotten.
  public var eventsBefore: UnixTime
  /// Sessions that ended before this are forgotten, if they would be over at ``now`` by themselves: until then somebody
  /// may bring a token of theirs, and is told why the session ended.
  public var endedBefore: UnixTime
  /// What counts as the end of an ended session that had no limit of its own: this long after its end.
  public var unlimited: Duration
  /// Tickets that expire now or earlier are forgotten.
  public var now: UnixTime

  public init(
    eventsBefore: UnixTime, endedBefore: UnixTime, unlimited: Duration = .seconds(365 * 86_400), now: UnixTime
  ) {
    self.eventsBefore = eventsBefore
    self.endedBefore = endedBefore
    self.unlimited = unlimited
    self.now = now
  }

  /// Whether a session may be forgotten.
  public func covers(_ row: SessionRow) -> Bool {
    guard let end = row.end, end.at < endedBefore else { return false }
    return (row.expiry ?? end.at.advanced(by: unlimited)) <= now
  }
}
