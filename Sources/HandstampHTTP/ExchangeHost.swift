#if Server
import HandstampCore
import HandstampSupport
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// The parts that all exchanges of a listener share.
struct ExchangeHost: Sendable {
  let options: ListenerOptions
  /// Is asked when a request is complete.
  let respond: @Sendable (Request, any Channel) async throws -> Response
  let table: ConnectionTable
  let tasks: RequestTasks
  let metrics: ServerMetrics
  let log: ThrottledLogger
  let logger: Logger
  let date = DateField()
}

extension ProblemError {
  static let notHTTP = ProblemError(.badRequest, "invalid_request", "The request is not valid HTTP")
  static let headTooLarge = ProblemError(
    .requestHeaderFieldsTooLarge, "head_too_large", "The request line and header fields are too large")
  static let tooSlow = ProblemError(.requestTimeout, "request_timeout", "The request took too long to arrive")
}

/// The `Date` field, formatted once per second.
final class DateField: Sendable {
  private let cache = Locked<(second: Int64, text: String)>((-1, ""))

  var text: String {
    let second = UnixTime.current.milliseconds / 1000
    return cache.withLock { cache in
      if cache.second != second { cache = (second, HTTPDate.text(CivilTime(secondsSince1970: second)) + " GMT") }
      return cache.text
    }
  }
}
#endif
