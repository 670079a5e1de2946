#if HTTP
import HandstampCore
import Logging

/// Logs what a flood causes, once per interval with a count, so that the log does not become part of the damage.
final class ThrottledLogger: Sendable {
  /// An event that may occur often.
  enum Event: String, Sendable, CaseIterable {
    case refusedConnection = "Connection refused: all others are in use"
    case refusedAddress = "Connection refused: too many of its address are in use"
    case closedIdle = "Idle connection closed for a new one"
    case acceptFailed = "Accepting connections failed"
    case slowRequest = "Slow request ended"
    case idleFrames = "Connection closed: too much data beside its requests"
    case slowReader = "Connection closed: the client accepts no data"
  }

  static let interval = Duration.seconds(10)
  private let tallies = Tallies<Event>(interval: interval)
  private let logger: Logger
  private let now: @Sendable () -> UnixTime

  init(_ logger: Logger, now: @escaping @Sendable () -> UnixTime = { .current }) {
    self.logger = logger
    self.now = now
  }

  /// Logs the first event at once; later ones are counted and reported by the first after the interval, or by ``tellRest(isEnd:)``.
  func note(_ event: Event, cause: @autoclosure () -> String? = nil) {
    if let count = tallies.count(event, at: now()) { log(event, count, cause()) }
  }

  /// Logs the events that were only counted, once their interval is over; at the end all.
  func tellRest(isEnd: Bool = false) {
    for (event, count) in tallies.rest(at: now(), isEnd: isEnd) { log(event, count, nil) }
  }

  private func log(_ event: Event, _ count: Int, _ cause: String?) {
    var metadata: Logger.Metadata = ["handstamp.count": "\(count)"]
    if let cause { metadata["handstamp.cause"] = "\(cause)" }
    logger.warning("\(event.rawValue)", metadata: metadata)
  }
}
#endif
