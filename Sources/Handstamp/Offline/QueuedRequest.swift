import Foundation

/// A request that waits until it can be sent.
public struct QueuedRequest: Sendable, Hashable, Identifiable {
  /// Goes out as `Idempotency-Key`, the same with every attempt: the server carries the request out once.
  public let id: String
  /// Without its authorization, which is attached when it is sent.
  public let request: TransportRequest
  /// The app's own word for what it is.
  public let label: String?
  public let enqueuedAt: UnixTime
  /// How often it was sent without an answer that decides anything, since the program began.
  public internal(set) var attempts = 0

  /// What it counts toward ``QueueLimits/bytes``.
  var size: Int {
    request.body.count + request.url.utf8.count
      + request.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
  }
}

/// How much a queue holds. Beyond that nothing is taken; nothing that waits is ever dropped for something new.
public struct QueueLimits: Sendable, Hashable {
  public var count: Int
  /// Of all addresses, headers and bodies together. Every change writes the whole queue.
  public var bytes: Int

  public init(count: Int = 200, bytes: Int = 1 << 20) {
    self.count = max(0, count)
    self.bytes = max(0, bytes)
  }
}

/// Why a queue did not do what it was asked for.
@nonexhaustive
public enum QueueError: ErrorWithRecovery, Hashable {
  /// As many requests wait as may.
  case full
  /// The request cannot be queued; the text says why, without what is in it.
  case invalidRequest(String)
  /// The queue's file cannot be read or written. Nothing was lost.
  case storage(VaultTrouble)

  public var recovery: Recovery {
    switch self {
    case .full, .invalidRequest: .none
    case .storage(.locked): .unlockDevice
    case .storage: .retry(after: nil)
    }
  }
}

/// What became of a queued request.
@nonexhaustive
public enum QueueOutcome: Sendable {
  /// The server carried it out.
  case sent(QueuedRequest, TransportResponse)
  /// The server will never have it, or it cannot be sent at all; it has left the queue. The answer, if there is one.
  case refused(QueuedRequest, TransportResponse?)
}

/// How a replay went.
public struct ReplayReport: Sendable, Hashable {
  /// Why requests still wait.
  @nonexhaustive
  public enum Stop: Sendable, Hashable {
    /// No answer, or none that decides anything; worth another try after the time, if there is one.
    case unreachable(retryAfter: Duration?)
    /// There is no token: the queue waits for the session.
    case paused(SessionError)
    /// Somebody else is signed in, or nobody.
    case otherAccount
    case storage(VaultTrouble)
  }
  /// In the order in which they went.
  public var sent: [QueuedRequest.ID] = []
  public var refused: [QueuedRequest.ID] = []
  /// Nothing when the queue is empty.
  public var stop: Stop?
}

/// A queue's content as it stands in its file.
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
