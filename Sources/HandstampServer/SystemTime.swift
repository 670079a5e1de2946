#if Server
import Foundation
public import HandstampCore

extension UnixTime {
  /// What this machine's clock shows.
  public static var current: UnixTime {
    UnixTime(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
  }
}
#endif
