#if HTTP
import HTTPTypes
import HandstampCore
import HandstampSupport
import HummingbirdCore
import Logging
import NIOCore

/// The parts that all exchanges of a listener share.
struct ExchangeHost: Sendable {
  let options: ListenerOptions
  /// Is asked when a request is complete.
  let respond: @Sendable (Request, any Channel) async throws -> Response
  let table: ConnectionTable
  let tasks: RequestTasks
  let count: ListenerCount.Add
  let log: ThrottledLogger
  let logger: Logger
  let date = DateField()
}

/// Why a listener answers a request by itself.
enum Refusal {
  case notHTTP, headTooLarge, tooSlow

  /// The response, and its body for a connection that has no writer.
  var response: (Response, ByteBuffer) {
    let (status, code, title): (HTTPResponse.Status, String, String) =
      switch self {
      case .notHTTP: (.badRequest, "invalid_request", "The request is not valid HTTP")
      case .headTooLarge:
        (.requestHeaderFieldsTooLarge, "head_too_large", "The request line and header fields are too large")
      case .tooSlow: (.requestTimeout, "request_timeout", "The request took too long to arrive")
      }
    let problem = JSONText(problem: status, code, title)
    return (.problem(problem, status), problem.buffer)
  }
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
