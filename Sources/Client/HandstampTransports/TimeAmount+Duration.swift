#if AsyncHTTPClient || WebSocket
import HandstampSupport
import NIOCore

extension TimeAmount {
  /// Rounded down to nanoseconds; limited to a century.
  init(_ duration: Duration) {
    self = .nanoseconds(min(max(duration, .zero), .seconds(3_200_000_000)).wholeNanoseconds)
  }
}
#endif
