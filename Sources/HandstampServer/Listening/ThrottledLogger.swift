#if Server
import HandstampSupport
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

  private struct Tally: Sendable {
    var since: ContinuousClock.Instant?
    var count = 0
  }

  static let interval = Duration.seconds(10)
  private let tallies = Locked<[Event: Tally]>([:])
  private let logger: Logger
  private let now: @Sendable () -> ContinuousClock.Instant

  init(_ logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.logger = logger
    self.now = now
  }

  /// Logs the first event at once; later ones are counted and reported by the first after the interval.
  func note(_ event: Event, cause: @autoclosure () -> String? = nil) {
    let now = now()
    let count = tallies.withLock { tallies -> Int? in
      var tally = tallies[event, default: Tally()]
      tally.count += 1
      defer { tallies[event] = tally }
      if let since = tally.since, now - since < ThrottledLogger.interval { return nil }
      defer { tally = Tally(since: now) }
      return tally.count
    }
    guard let count else { return }
    var metadata: Logger.Metadata = ["handstamp.count": "\(count)"]
    if let cause = cause() { metadata["handstamp.cause"] = "\(cause)" }
    logger.warning("\(event.rawValue)", metadata: metadata)
  }
}
#endif
