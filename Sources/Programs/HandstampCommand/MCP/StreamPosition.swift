#if Command
import Handstamp

/// The place in a stream of events from which it can be resumed, and the wait before that (WHATWG HTML section 9.2).
struct StreamPosition: Sendable, Hashable {
  /// The last event's ID; `nil` if the server has sent none, so that nothing can be resumed.
  private(set) var id: String?
  private var pause: Duration?
  private var failures = 0
  /// How many attempts may fail in a row.
  private static let mostFailures = 5
  private static let pauses = Duration.milliseconds(100)...Duration.seconds(60)
  static let usualBackOff = RetryPolicy(base: .seconds(1), cap: .seconds(30))
  private let backOff: RetryPolicy

  /// - Parameter backOff: the waits after failures; the first one is its base, unless the server has asked for another.
  init(backOff: RetryPolicy = StreamPosition.usualBackOff) { self.backOff = backOff }

  /// Notes an item of the stream. Returns the message in it, if it has one.
  mutating func take(_ item: EventStreamParser.Item) -> [UInt8]? {
    switch item {
    case .id(let id): move(to: id)
    case .retry(let pause):
      self.pause = min(max(pause, StreamPosition.pauses.lowerBound), StreamPosition.pauses.upperBound)
    case .event(let event, let hasOwnID):
      if hasOwnID, let id = event.id { move(to: id) }
      // An event without data only sets a position.
      guard event.name == "message", !event.data.isEmpty else { return nil }
      failures = 0
      return Array(event.data.utf8)
    }
    return nil
  }

  /// Notes that the server has accepted a connection, where it is no failure if that ends without an event: proxies cut idle ones.
  mutating func connected() { failures = 0 }

  /// Returns how long to wait before the next connection; `nil` if too many have failed.
  mutating func pause(entropy: UInt64) -> Duration? {
    failures += 1
    guard failures <= StreamPosition.mostFailures else { return nil }
    let wait = backOff.delay(afterAttempt: failures, entropy: entropy, retryAfter: nil)
    return failures == 1 ? pause ?? backOff.base : max(pause ?? .zero, wait)
  }

  /// An ID that no header field can have does not count; an empty one takes the position back (section 9.2.6).
  private mutating func move(to id: String) {
    let fits = !id.isEmpty && id.utf8.allSatisfy { $0 >= 32 && $0 != 127 }
    self.id = fits ? id : nil
  }
}
#endif
