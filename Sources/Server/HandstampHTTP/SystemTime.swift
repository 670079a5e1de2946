#if HTTP
import Foundation
public import HandstampCore

extension UnixTime {
  /// The current time of this machine's clock.
  public static var current: UnixTime {
    UnixTime(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
  }
}
#endif
