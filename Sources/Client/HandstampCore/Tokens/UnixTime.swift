import HandstampSupport

/// A point in civil time: milliseconds since 1970-01-01T00:00:00Z, without leap seconds. It is wrong on a device whose clock is
/// wrong.
///
/// Durations are therefore measured by the device's uptime. Civil time decides only where uptime cannot, as for the idle and
/// absolute limits of a session after a restart of the device.
public struct UnixTime: Sendable, Hashable, Comparable, Codable {
  /// Milliseconds since 1970-01-01T00:00:00Z.
  public let milliseconds: Int64

  public init(milliseconds: Int64) { self.milliseconds = milliseconds }
  public init(seconds: Int64) { milliseconds = seconds.multipliedSaturating(by: 1000) }

  /// Whole seconds since 1970, rounded down.
  public var seconds: Int64 { milliseconds.dividedRoundingDown(by: 1000) }

  /// Returns the time later by `duration`; saturates instead of wrapping around.
  public func advanced(by duration: Duration) -> UnixTime {
    UnixTime(milliseconds: milliseconds.addedSaturating(duration.wholeMilliseconds))
  }

  /// Returns the time from `other` to this; negative if this is earlier.
  public func since(_ other: UnixTime) -> Duration {
    .milliseconds(milliseconds.addedSaturating(0 - Swift.max(other.milliseconds, -Int64.max)))
  }

  public static func < (left: UnixTime, right: UnixTime) -> Bool { left.milliseconds < right.milliseconds }
}

extension UnixTime: CustomStringConvertible {
  /// RFC 3339 in UTC, to the second: `2026-11-21T01:58:08Z`.
  public var description: String {
    let time = CivilTime(secondsSince1970: seconds)
    let date = time.date
    return "\(padded(date.year, to: 4))-\(padded(date.month))-\(padded(date.day))T\(time.clock)Z"
  }
}

extension UnixTime {
  /// Parses an HTTP date (RFC 9110 section 5.6.7) in any of its three forms; `nil` for any other text, and before 1970.
  package init?(httpDate text: String) {
    guard let seconds = HTTPDate.secondsSince1970(text) else { return nil }
    self.init(seconds: seconds)
  }

  /// The date in the format of HTTP and mail, without the zone: `Sun, 06 Nov 1994 08:49:37`, in UTC.
  package var httpDate: String { HTTPDate.text(CivilTime(secondsSince1970: seconds)) }
}

extension Int64 {
  fileprivate func addedSaturating(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other > 0 ? .max : .min) : sum
  }

  fileprivate func multipliedSaturating(by factor: Int64) -> Int64 {
    let (product, overflow) = multipliedReportingOverflow(by: factor)
    return overflow ? ((self > 0) == (factor > 0) ? .max : .min) : product
  }
}
