public import HandstampCore

/// The data that a store may delete: events, and only those sessions and one-time tokens that have ended or expired. Of old audit
/// entries first the addresses are reduced to networks.
public struct Retention: Sendable, Hashable {
  /// Events before this time are deleted.
  public var eventsBefore: UnixTime
  /// Audit entries before this time are deleted.
  public var auditBefore: UnixTime
  /// Of audit entries before this time, ``AuditedAction/address`` becomes ``AuditedAction/network``.
  public var addressesBefore: UnixTime
  /// Sessions that ended before this time are deleted if they would have expired by ``now``: until then a client that presents
  /// an old token learns why the session ended.
  public var endedBefore: UnixTime
  /// How long after its end a session without an expiry counts as expired.
  public var unlimited: Duration
  /// One-time tokens and items that expire at this time or earlier are deleted.
  public var now: UnixTime

  /// - Parameters:
  ///   - auditBefore: `nil` is `eventsBefore`.
  ///   - addressesBefore: `nil` is `auditBefore`: entries are deleted with their addresses.
  public init(
    eventsBefore: UnixTime, endedBefore: UnixTime, auditBefore: UnixTime? = nil, addressesBefore: UnixTime? = nil,
    unlimited: Duration = .seconds(365 * 86_400), now: UnixTime
  ) {
    self.eventsBefore = eventsBefore
    self.auditBefore = auditBefore ?? eventsBefore
    self.addressesBefore = addressesBefore ?? auditBefore ?? eventsBefore
    self.endedBefore = endedBefore
    self.unlimited = unlimited
    self.now = now
  }

  /// Returns whether a session may be deleted.
  public func covers(_ row: SessionRow) -> Bool {
    guard let end = row.end, end.at < endedBefore else { return false }
    return (row.expiry ?? end.at.advanced(by: unlimited)) <= now
  }
}
