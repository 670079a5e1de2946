public import Foundation
public import HandstampCore

extension UnixTime {
  /// The same time as a `Date`.
  public var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
