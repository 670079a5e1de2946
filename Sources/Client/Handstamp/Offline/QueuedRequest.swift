import Foundation

/// A request that waits to be sent.
public struct QueuedRequest: Sendable, Hashable, Identifiable {
  /// The value of `Idempotency-Key`, the same for every attempt: the server carries out the request once.
  public let id: String
  /// The request without its authorization, which is attached when it is sent.
  public let request: TransportRequest
  /// The app's own label, for a list of the queue.
  public let label: String?
  /// When the request was added to the queue.
  public let enqueuedAt: UnixTime
  /// The number of attempts without a decision, since the program began.
  public internal(set) var attempts = 0

  /// The size that counts toward the limit of a queue.
  var size: Int {
    request.body.count + request.url.utf8.count
      + request.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
  }
}

/// Why a queue operation failed.
@nonexhaustive
public enum QueueError: HandstampError, Hashable {
  /// The queue has reached its limits.
  case full
  /// The request cannot be queued; the text gives the reason, without the request's content.
  case invalidRequest(String)
  /// The queue's file cannot be read or written. Nothing was lost.
  case storage(VaultError)

  public var code: String {
    switch self {
    case .full: "queue_full"
    case .invalidRequest: "invalid_url_request"
    case .storage(let error): error.code
    }
  }

  public var recovery: Recovery? {
    switch self {
    case .full, .invalidRequest: nil
    case .storage(let error): error.recovery
    }
  }
}

extension QueueError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .full: "the queue is full"
    case .invalidRequest(let text): "the request cannot be queued: \(text)"
    case .storage(let error): "the queue cannot be stored: \(error)"
    }
  }
}

/// The outcome of a queued request.
@nonexhaustive
public enum QueueOutcome: Sendable {
  /// The server carried it out.
  case sent(QueuedRequest, TransportResponse)
  /// The server refused it permanently, or it cannot be sent; it has left the queue. The response, or `nil` if there was none.
  case refused(QueuedRequest, TransportResponse?)
}

/// The result of a replay.
public struct ReplayReport: Sendable, Hashable {
  /// Why requests still wait.
  @nonexhaustive
  public enum Stop: Sendable, Hashable {
    /// No response, or none that decides anything; retry after the delay, if the server gave one.
    case unreachable(retryAfter: Duration?)
    /// There is no token: the queue waits for the session.
    case paused(SessionError)
    /// Another account is signed in, or none.
    case otherAccount
    /// The queue's file cannot be written.
    case storage(VaultError)
  }
  /// The requests that the server carried out, in order.
  public var sent: [QueuedRequest.ID] = []
  /// The requests that were refused permanently, in order.
  public var refused: [QueuedRequest.ID] = []
  /// Why requests still wait; `nil` if the queue is empty.
  public var stop: Stop?
}

/// The content of a queue's file.
struct StoredQueue: Codable {
  struct Item: Codable {
    var id: String
    var method: String
    var url: String
    var headers: [[String]]
    var body: Data
    var label: String?
    var at: Int64
  }
  var items: [Item]

  init(_ requests: [QueuedRequest]) {
    items = requests.map {
      Item(
        id: $0.id, method: $0.request.method, url: $0.request.url,
        headers: $0.request.headers.map { [$0.name, $0.value] },
        body: Data($0.request.body), label: $0.label, at: $0.enqueuedAt.milliseconds)
    }
  }

  var requests: [QueuedRequest] {
    items.map { item in
      let headers = item.headers.compactMap { $0.count == 2 ? HeaderField($0[0], $0[1]) : nil }
      return QueuedRequest(
        id: item.id,
        request: TransportRequest(method: item.method, url: item.url, headers: headers, body: Array(item.body)),
        label: item.label, enqueuedAt: UnixTime(milliseconds: item.at))
    }
  }
}
