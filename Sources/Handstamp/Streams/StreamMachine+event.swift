import HandstampCore

extension StreamMachine {
  /// One connection. Never used twice.
  struct Link: Sendable, Hashable, Comparable {
    let number: UInt64
    init(_ number: UInt64) { self.number = number }
    static func < (left: Self, right: Self) -> Bool { left.number < right.number }
  }

  /// A timer; starting one again replaces the former.
  enum Timer: Int, Sendable, Hashable, CaseIterable {
    /// The next try to connect.
    case reopen
    /// The link's token comes to its end.
    case renewal
    /// A link has been opening for too long.
    case opening
    /// Nothing came for too long.
    case watchdog
  }

  /// How a link ended, or why there was none.
  enum Closing: Sendable, Hashable {
    case ended
    /// The server refused the token.
    case unauthorized
    /// No connection, an answer that decides nothing, or no token for now.
    case unavailable(retryAfter: Duration?)
    /// The server will never have it.
    case refused(SessionError)
    /// The server says that there is nothing more to come (204, WHATWG HTML section 9.2.3).
    case finished

    var retryAfter: Duration? { if case .unavailable(let wait) = self { wait } else { nil } }
  }

  /// How a stream ended.
  enum End: Sendable, Hashable {
    case complete
    case failed(SessionError)
    /// Nobody reads any more.
    case left
  }

  enum Event: Sendable, Hashable {
    case start
    /// A link was answered; after `renewal` its token should be replaced.
    case opened(Link, renewal: Duration?)
    /// Something came that is no message: a heartbeat.
    case alive(Link)
    /// A message, with its own id if it has one.
    case message(Link, id: String?)
    /// An id without a message.
    case passed(Link, id: String)
    case retry(Link, Duration)
    case closed(Link, Closing, entropy: UInt64)
    case timer(Timer, ticket: UInt64, entropy: UInt64)
    /// The network came back: what waits for its time may go now.
    case nudge
    case over(End)
  }

  enum Effect: Sendable, Hashable {
    /// Connects, with a token other than that link's where one is named.
    case open(Link, after: String?, insteadOf: Link?)
    case close(Link)
    /// The message that the event brought is new: it is the reader's.
    case deliver
    case startTimer(Timer, ticket: UInt64, after: Duration)
    case finish(End)
    /// The event made no sense here, or came too late.
    case ignored
  }
}

/// How a live stream keeps its connection.
public struct StreamOptions: Sendable, Hashable {
  /// How often the server says something at least. Default 15 s.
  public var heartbeat: Duration
  /// A connection that is silent for that many heartbeats is given up. Default 3, at least 1.
  public var missedHeartbeats: Int
  /// The back-off between connections, on top of the server's `retry:`. Its number of attempts does not count: a stream goes on
  /// for as long as the session.
  public var retry: RetryPolicy
  /// A connection that held this long was a good one: the back-off begins anew after it. Default 10 s.
  public var settling: Duration

  public init(
    heartbeat: Duration = .seconds(15), missedHeartbeats: Int = 3,
    retry: RetryPolicy = RetryPolicy(base: .milliseconds(500), cap: .seconds(30)), settling: Duration = .seconds(10)
  ) {
    self.heartbeat = max(.milliseconds(1), heartbeat)
    self.missedHeartbeats = max(1, missedHeartbeats)
    self.retry = retry
    self.settling = max(.zero, settling)
  }

  /// The longest silence.
  var silence: Duration { heartbeat * missedHeartbeats }
}
