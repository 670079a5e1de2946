import HandstampCore

/// What a live stream does next, over server-sent events and WebSocket alike: when it connects, which connection counts, which
/// messages are new. Knows nothing of clocks, networks or tokens.
///
/// One connection is a *link*. At most two exist: the one that is read, and its successor while that opens: a link whose token
/// comes to its end is given up only when another is open. Both carry some of the same messages then, so what the reader
/// has is known by id:
///
/// - `position` is the last id that the link in use has passed, in its own order. It is what a new link resumes after.
/// - `ahead` are the ids that the reader has although the link in use has yet to pass them. They are dropped when they come.
///
/// A successor resumes after the position of the moment it was asked for, and inherits as `ahead` what the former link
/// brought since. If it breaks before it caught up, the next one inherits both. Messages without an id of their own are
/// always handed on: nobody can know them again.
struct StreamMachine: Sendable, Hashable {
  /// A link that is open or opening.
  struct Line: Sendable, Hashable {
    var link: Link
    /// What it inherits as `ahead` when it takes over.
    var ahead: [String] = []
    /// When it opened; nothing while it opens.
    var openedAt: Duration?
    /// When anything last came.
    var activeAt: Duration
    /// How many new ids it has brought.
    var news = 0
  }

  /// The most ids that are kept for a successor. One that takes longer to open is asked for anew.
  static let mostAhead = 1024

  let options: StreamOptions
  private(set) var position: String?
  private(set) var ahead: [String] = []
  private(set) var current: Line?
  private(set) var successor: Line?
  private(set) var end: End?
  private(set) var attempts = 0
  /// How long the server wants everybody to wait before they connect again.
  private(set) var reconnection: Duration = .zero
  /// A token of this link was refused; the next one must be another.
  private var refused: Link?
  /// Nobody was there to let the next token out: nobody is asked again, and the stream ends with the link in use.
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
    case .nudge:
      guard timers[.reopen] != nil else { return [.ignored] }
      attempts = 0
      return open(at: now)
    case .over(let end): return finish(end)
    }
  }

  // MARK: Links

  /// Asks for a link, or for a successor of the one in use.
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
    if let former = current {
      effects.append(.close(former.link))
      attempts = 0
    }
    successor = nil
    timers[.opening] = nil
    refused = nil
    // What the former link had yet to pass is before what it brought itself.
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
        // The first refusal may be of a token that was over; with another one at once.
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
    // A server that accepts and closes at once must not be asked ever so often.
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

  /// Moves to `id`; whether the reader does not have it yet.
  private mutating func pass(_ id: String) -> Bool {
    let isHello = id == position
    // An empty id takes the last one back (WHATWG HTML section 9.2.6).
    position = id.isEmpty ? nil : id
    if id.isEmpty { return true }
    if let index = ahead.firstIndex(of: id) {
      ahead.remove(at: index)
      return false
    }
    if !isHello {
      current?.news += 1
      // Replays come first and in order. The first new id may be a greeting with the id of the place where the link begins;
      // at the second one, what has not come by now never will.
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
