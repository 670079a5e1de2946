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
    /// The next attempt to connect.
    case reopen
    /// The link's token is about to expire.
    case renewal
    /// A link has been opening for too long.
    case opening
    /// The connection has been silent for too long.
    case watchdog
  }

  /// How a link ended, or why it was not opened.
  enum Closing: Sendable, Hashable {
    case ended
    /// The server rejected the token.
    case unauthorized
    /// No connection, a response that decides nothing, or no token for now.
    case unavailable(retryAfter: Duration?)
    /// The server refuses permanently.
    case refused(SessionError)
    /// The server reports that no more events follow (204, WHATWG HTML section 9.2.3).
    case finished

    var retryAfter: Duration? { if case .unavailable(let wait) = self { wait } else { nil } }
  }

  /// How a stream ended.
  enum End: Sendable, Hashable {
    case complete
    case failed(SessionError)
    /// The reader is gone.
    case left
  }

  enum Event: Sendable, Hashable {
    case start
    /// A link was accepted; its token should be replaced after `renewal`.
    case opened(Link, renewal: Duration?)
    /// A sign of life other than a message: a heartbeat.
    case alive(Link)
    /// A message, with its own ID if it has one.
    case message(Link, id: String?)
    /// An ID without a message.
    case passed(Link, id: String)
    case retry(Link, Duration)
    case closed(Link, Closing, entropy: UInt64)
    case timer(Timer, ticket: UInt64, entropy: UInt64)
    case over(End)
  }

  enum Effect: Sendable, Hashable {
    /// Connects, with a token other than that link's if one is given.
    case open(Link, after: String?, insteadOf: Link?)
    case close(Link)
    /// The message of the event is new: pass it to the reader.
    case deliver
    case startTimer(Timer, ticket: UInt64, after: Duration)
    case finish(End)
    /// The event made no sense here, or came too late.
    case ignored
  }
}

/// How a live stream keeps its connection.
public struct StreamOptions: Sendable, Hashable {
  /// The longest interval between two signs of life of the server. Default 15 s.
  public var heartbeat: Duration
  /// The number of silent heartbeats after which a connection is closed. Default 3, at least 1.
  public var missedHeartbeats: Int
  /// The back-off between connections, on top of the server's `retry:`. Its number of attempts is ignored: a stream continues
  /// as long as the session.
  public var retry: RetryPolicy
  /// The age at which a connection counts as stable: the back-off starts over after it. Default 10 s.
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
