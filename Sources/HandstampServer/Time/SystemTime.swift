#if Server
import Foundation
public import HandstampCore

extension UnixTime {
  /// What this machine's clock shows.
  public static var current: UnixTime {
    UnixTime(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
  }
}

/// A clock that cannot be set: it only ever goes on, and stands while the machine sleeps.
enum Uptime {
  private static let start = SuspendingClock().now

  static var current: Duration { start.duration(to: SuspendingClock().now) }
}
#endif
