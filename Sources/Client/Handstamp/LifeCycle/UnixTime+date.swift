public import Foundation
public import HandstampCore

extension UnixTime {
  /// The time of the device's clock now. A session's own times are of its ``SessionClock``.
  public static var now: UnixTime { UnixTime(Date()) }

  /// The time of a `Date`, to the nearest millisecond; of a date beyond what there is, the last or the first one.
  public init(_ date: Date) {
    let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
    self.init(milliseconds: Int64(exactly: milliseconds) ?? (milliseconds < 0 ? .min : .max))
  }

  /// The same time as a `Date`.
  public var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
