/// Why a request has no response. The texts contain the system's message and code, never a query, a header or a body.
@nonexhaustive
public enum TransportError: HandstampError, Hashable {
  /// No connection: no network, no such host, connection refused, TLS failed. No byte of the request was sent.
  case notConnected(String)
  /// The connection broke, or it is unknown whether there was one: the server may have received the request.
  case connectionLost(String)
  /// No complete response within the request's ``TransportRequest/timeout``.
  case timedOut
  /// The task was cancelled.
  case cancelled
  /// The response is longer than ``TransportRequest/maximumResponseSize``.
  case tooLarge
  /// The request cannot be sent: its URL is not valid, a header contains a line break, or a file cannot be read or written.
  case invalidRequest(String)

  public var code: String {
    switch self {
    case .notConnected: "not_connected"
    case .connectionLost: "connection_lost"
    case .timedOut: "timed_out"
    case .cancelled: "cancelled"
    case .tooLarge: "response_too_large"
    case .invalidRequest: "invalid_url_request"
    }
  }

  public var recovery: Recovery? {
    switch self {
    case .notConnected, .connectionLost, .timedOut: .retry(after: nil)
    case .cancelled, .tooLarge, .invalidRequest: nil
    }
  }
}

extension TransportError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .notConnected(let text): "cannot connect: \(text)"
    case .connectionLost(let text): "connection lost: \(text)"
    case .timedOut: "the server did not answer in time"
    case .cancelled: "cancelled"
    case .tooLarge: "the response is too large"
    case .invalidRequest(let text): "the request cannot be sent: \(text)"
    }
  }
}
