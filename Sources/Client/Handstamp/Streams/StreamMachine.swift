import HandstampCore

/// Decides the next step of a live stream, for server-sent events and WebSocket alike: when it connects, which connection
/// counts, which messages are new. Knows nothing of clocks, networks or tokens.
///
/// One connection is a *link*. At most two exist: the one in use, and its successor while that opens: a link whose token is
/// about to expire is closed only when another is open. Both may carry the same messages then, so messages that the reader has
/// are recognized by ID:
///
/// - `position` is the last ID that the link in use has passed, in its own order. A new link resumes after it.
/// - `ahead` are the IDs that the reader has but the link in use has not passed yet. They are dropped when they arrive.
///
/// A successor resumes after the position at the moment it was requested, and inherits as `ahead` the IDs that the previous link
/// brought since. If it breaks before it has caught up, the next one inherits both. Messages without an ID of their own are
/// always delivered: they cannot be recognized.
struct StreamMachine: Sendable, Hashable {
  /// A link that is open or opening.
  struct Line: Sendable, Hashable {
    var link: Link
    /// The `ahead` that the link inherits when it takes over.
    var ahead: [String] = []
    /// When the link opened; `nil` while it opens.
    var openedAt: Duration?
    /// When data last arrived.
    var activeAt: Duration
    /// The number of new IDs that the link has brought.
    var news = 0
  }

  /// The most IDs that are kept for a successor. A link that takes longer to open is requested again.
  static let mostAhead = 1024

  let options: StreamOptions
  private(set) var position: String?
  private(set) var ahead: [String] = []
  private(set) var current: Line?
  private(set) var successor: Line?
  private(set) var end: End?
  private(set) var attempts = 0
  /// The server's minimum delay before any new connection.
  private(set) var reconnection: Duration = .zero
  /// A token of this link was rejected; the next one must be another.
  private var refused: Link?
  /// Presence was not confirmed for the next token: the user is not asked again, and the stream ends with the link in use.
  private var farewell: SessionError?
  private var lastLink: UInt64 = 0
  private var lastTicket: UInt64 = 0
  private var timers: [Timer: UInt64] = [:]

  init(options: StreamOptions = StreamOptions(), after position: String? = nil) {
    self.options = options
    self.position = position
  }

  mutating func handle(_ event: Event, at now: Duration) -> [Effect] {
    if end != nil { return [.ignored] }
    switch event {
    case .start: return current == nil && successor == nil ? open(at: now) : [.ignored]
    case .opened(let link, let renewal): return opened(link, renewal, at: now)
    case .alive(let link):
      guard current?.link == link else { return [.ignored] }
      current?.activeAt = now
      return []
    case .message(let link, let id): return message(link, id, at: now)
    case .passed(let link, let id):
      guard current?.link == link else { return [.ignored] }
      _ = pass(id)
      return []
    case .retry(let link, let wait):
      guard current?.link == link else { return [.ignored] }
      reconnection = min(max(.zero, wait), StreamMachine.longestWait)
      return []
    case .closed(let link, let closing, let entropy): return closed(link, closing, entropy, at: now)
    case .timer(let timer, let ticket, let entropy):
      guard timers[timer] == ticket else { return [.ignored] }
      timers[timer] = nil
      return fired(timer, entropy, at: now)
    case .over(let end): return finish(end)
    }
  }

  // MARK: Links

  /// Opens a link, or a successor of the one in use.
  private mutating func open(at now: Duration) -> [Effect] {
    guard successor == nil else { return [.ignored] }
    timers[.reopen] = nil
    lastLink += 1
    let link = Link(lastLink)
    successor = Line(link: link, activeAt: now)
    return [
      .open(link, after: position, insteadOf: refused ?? current?.link),
      start(.opening, after: options.silence),
    ]
  }

  private mutating func opened(_ link: Link, _ renewal: Duration?, at now: Duration) -> [Effect] {
    guard var line = successor, line.link == link else { return [.ignored] }
    var effects: [Effect] = []
    if let previous = current {
      effects.append(.close(previous.link))
      attempts = 0
    }
    successor = nil
    timers[.opening] = nil
    refused = nil
    // The IDs that the previous link had not passed come before those it brought itself.
    ahead += line.ahead.filter { !ahead.contains($0) }
    ahead.removeFirst(max(0, ahead.count - StreamMachine.mostAhead))
    line.ahead = []
    line.openedAt = now
    line.activeAt = now
    current = line
    effects.append(start(.watchdog, after: options.silence))
    timers[.renewal] = nil
    if let renewal { effects.append(start(.renewal, after: max(.zero, renewal))) }
    return effects
  }

  private mutating func closed(_ link: Link, _ closing: Closing, _ entropy: UInt64, at now: Duration) -> [Effect] {
    if let line = successor, line.link == link {
      successor = nil
      timers[.opening] = nil
      if case .unauthorized = closing {
        let isFirst = refused == nil
        refused = link
        // The first rejection may concern an expired token; retry with another one at once.
        if isFirst { return open(at: now) }
      }
      if current == nil {
        switch closing {
        case .refused(let error): return finish(.failed(error))
        case .finished: return finish(.complete)
        case .ended, .unauthorized, .unavailable: break
        }
      }
      if case .refused(let error) = closing, case .presence = error {
        farewell = error
        return []
      }
      return reopen(closing.retryAfter, entropy)
    }
    guard let line = current, line.link == link else { return [.ignored] }
    current = nil
    timers[.watchdog] = nil
    timers[.renewal] = nil
    if let farewell { return finish(.failed(farewell)) }
    // A server that accepts and closes at once must not be contacted in a tight loop.
    if let openedAt = line.openedAt, now - openedAt >= options.settling { attempts = 0 }
    return successor == nil ? reopen(nil, entropy) : []
  }

  private mutating func reopen(_ retryAfter: Duration?, _ entropy: UInt64) -> [Effect] {
    attempts += 1
    let backOff = reconnection + options.retry.delay(afterAttempt: attempts, entropy: entropy, retryAfter: nil)
    return [start(.reopen, after: min(max(retryAfter ?? .zero, backOff), StreamMachine.longestWait))]
  }

  private static let longestWait = Duration.seconds(3600)

  // MARK: Messages

  private mutating func message(_ link: Link, _ id: String?, at now: Duration) -> [Effect] {
    guard current?.link == link else { return [.ignored] }
    current?.activeAt = now
    guard let id else { return [.deliver] }
    var effects: [Effect] = pass(id) ? [.deliver] : []
    guard successor != nil, !id.isEmpty else { return effects }
    successor?.ahead.append(id)
    if let slow = successor, slow.ahead.count >= StreamMachine.mostAhead {
      successor = nil
      effects += [.close(slow.link)] + open(at: now)
    }
    return effects
  }

  /// Moves to `id`; returns whether it is new to the reader.
  private mutating func pass(_ id: String) -> Bool {
    let isHello = id == position
    // An empty ID resets the last one (WHATWG HTML section 9.2.6).
    position = id.isEmpty ? nil : id
    if id.isEmpty { return true }
    if let index = ahead.firstIndex(of: id) {
      ahead.remove(at: index)
      return false
    }
    if !isHello {
      current?.news += 1
      // Replays come first and in order. The first new ID may be a greeting with the ID of the position where the link begins;
      // after the second one, an ID that has not arrived never will.
      if let news = current?.news, news > 1 { ahead = [] }
    }
    return true
  }

  // MARK: Time

  private mutating func fired(_ timer: Timer, _ entropy: UInt64, at now: Duration) -> [Effect] {
    switch timer {
    case .reopen, .renewal: return open(at: now)
    case .opening:
      guard let line = successor else { return [.ignored] }
      return [.close(line.link)] + closed(line.link, .unavailable(retryAfter: nil), entropy, at: now)
    case .watchdog:
      guard let line = current else { return [.ignored] }
      let silence = now - line.activeAt
      guard silence >= options.silence else { return [start(.watchdog, after: options.silence - silence)] }
      return [.close(line.link)] + closed(line.link, .ended, entropy, at: now)
    }
  }

  private mutating func start(_ timer: Timer, after delay: Duration) -> Effect {
    lastTicket += 1
    timers[timer] = lastTicket
    return .startTimer(timer, ticket: lastTicket, after: delay)
  }

  private mutating func finish(_ end: End) -> [Effect] {
    self.end = end
    timers = [:]
    defer { (current, successor) = (nil, nil) }
    return [current, successor].compactMap { $0.map { .close($0.link) } } + [.finish(end)]
  }
}

extension StreamMachine {
  /// One connection. Never used twice.
  struct Link: Sendable, Hashable, Comparable {
    let number: UInt64
    init(_ number: UInt64) { self.number = number }
    static func < (left: Self, right: Self) -> Bool { left.number < right.number }
  }

  /// A timer; starting one again replaces the previous one.
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
