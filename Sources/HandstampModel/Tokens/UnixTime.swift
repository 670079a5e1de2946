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
  public var seconds: Int64 {
    let (quotient, remainder) = milliseconds.quotientAndRemainder(dividingBy: 1000)
    return remainder < 0 ? quotient - 1 : quotient
  }

  /// Returns the time later by `duration`; saturates instead of wrapping around.
  public func advanced(by duration: Duration) -> UnixTime {
    UnixTime(milliseconds: milliseconds.addedSaturating(duration.milliseconds))
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
    let days = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
    let second = seconds - days * 86_400
    // Converts days to a civil date in 400-year eras that begin on 1 March.
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    func pad(_ number: Int64, _ width: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: Swift.max(0, width - text.count)) + text
    }
    return "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))T"
      + "\(pad(second / 3600, 2)):\(pad(second / 60 % 60, 2)):\(pad(second % 60, 2))Z"
  }
}

extension Duration {
  /// Whole milliseconds, rounded toward zero; saturates.
  package var milliseconds: Int64 {
    // `components` traps beyond 64 bits of seconds.
    guard abs(inSeconds) < 9e15 else { return self < .zero ? .min : .max }
    let (seconds, attoseconds) = components
    return seconds.multipliedSaturating(by: 1000).addedSaturating(attoseconds / 1_000_000_000_000_000)
  }

  /// The duration as a floating-point number of seconds.
  package var inSeconds: Double {
    self / .seconds(1)
  }
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
