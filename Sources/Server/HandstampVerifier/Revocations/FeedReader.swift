#if Verifier
import HandstampCore
import HandstampSupport
import Logging

/// Follows the feed over one connection at a time, and answers whether a session has ended.
final class FeedReader: Sendable {
  private struct State: Sendable {
    var feed: RevocationFeed
    var lastError: FeedError?
    /// When bytes last arrived, by the uptime.
    var heardAt = Duration.zero
    /// Those who wait for the end of a session.
    var waiting: [UInt64: (session: RevocationList.Key, bell: AsyncStream<Void>.Continuation)] = [:]
    var lastWaiting: UInt64 = 0
  }

  /// The times between two attempts.
  static let pauses: ClosedRange<Duration> = .milliseconds(100)...(.seconds(5))

  private let url: String
  private let settings: FeedSettings
  private var silence: Duration { settings.silence }
  private let transport: any Transport
  private let clock: VerifierClock
  private let leeway: Duration
  private let logger: Logger
  private let state: Locked<State>

  init(
    url: String, settings: FeedSettings, transport: any Transport, clock: VerifierClock, leeway: Duration,
    logger: Logger
  ) {
    self.url = url
    self.settings = settings
    self.transport = transport
    self.clock = clock
    self.leeway = leeway
    self.logger = logger
    state = Locked(State(feed: RevocationFeed(capacity: settings.capacity, silence: settings.silence)))
  }

  /// The worth of a session's token.
  ///
  /// - Throws: ``AccessError/sessionEnded``.
  func verdict(on session: RevocationList.Key) throws(AccessError) -> LostFeedPolicy.Verdict {
    let uptime = clock.uptime()
    let (hasEnded, standing) = state.withLock { ($0.feed.list.contains(session), $0.feed.standing(at: uptime)) }
    if hasEnded { throw .sessionEnded }
    return settings.whenLost.verdict(standing, at: uptime)
  }

  /// The time at which the uptime was that.
  func time(of uptime: Duration) -> UnixTime { clock.now().advanced(by: uptime - clock.uptime()) }

  /// Waits until a session has ended, or its end could not be noticed any more; returns `nil` if the task is cancelled.
  func waitForEnd(of session: String) async -> AccessError? {
    let session = RevocationList.Key(session)
    let (rings, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let number = state.withLock { state in
      state.lastWaiting += 1
      state.waiting[state.lastWaiting] = (session, bell)
      return state.lastWaiting
    }
    defer { state.withLock { _ = $0.waiting.removeValue(forKey: number) } }
    bell.yield()
    for await _ in rings {
      do throws(AccessError) {
        if case .refused(let since) = try verdict(on: session) {
          return .unavailable(.revocations(since: since.map(time)))
        }
      } catch { return error }
    }
    return nil
  }

  /// Wakes those whose session has ended; all if they would not hear of it.
  private func ring() {
    let uptime = clock.uptime()
    state.withLock { state in
      let verdict = settings.whenLost.verdict(state.feed.standing(at: uptime), at: uptime)
      let isUnknown = if case .refused = verdict { true } else { false }
      for (session, bell) in state.waiting.values where isUnknown || state.feed.list.contains(session) { bell.yield() }
    }
  }

  var status: FeedStatus {
    let (uptime, now) = (clock.uptime(), clock.now())
    let (standing, count, fault) = state.withLock {
      ($0.feed.standing(at: uptime), $0.feed.list.count, $0.lastError)
    }
    let completeUntil: UnixTime? =
      switch standing {
      case .live: now
      case .lost(let since): now.advanced(by: since - uptime)
      case .incomplete: nil
      }
    return FeedStatus(
      isLive: standing == .live, completeUntil: completeUntil, sessions: count, lastError: fault.map { "\($0)" })
  }

  /// Follows the feed until the task is cancelled.
  func run() async {
    var pause = FeedReader.pauses.lowerBound
    var isNews = true
    while !Task.isCancelled {
      let (fault, wasUseful) = await connection()
      ring()
      guard !Task.isCancelled else { return }
      state.withLock { state in
        state.lastError = fault
        // The list may have become unusable together with the cursor.
        if case .notValid = fault { state.feed.restart() }
      }
      if wasUseful { isNews = true }
      if fault != .ended || !wasUseful {
        // Once, and not for each attempt to get it back.
        logger.log(
          level: isNews ? .warning : .debug, "Revocation feed lost", metadata: ["handstamp.cause": "\(fault)"])
        isNews = false
      }
      if wasUseful { pause = FeedReader.pauses.lowerBound }
      // Not all verifiers at the same moment.
      try? await Task.sleep(for: pause * Double.random(in: 0.5...1))
      pause = min(pause * 2, FeedReader.pauses.upperBound)
    }
  }

  /// One connection, to its end. Says also whether the feed was live during it.
  private func connection() async -> (FeedError, wasUseful: Bool) {
    var headers = [
      HeaderField("Accept", "text/event-stream"), HeaderField("Cache-Control", "no-store"),
      .basic(settings.clientID, settings.clientSecret),
    ]
    if let cursor = state.withLock({ $0.feed.cursor }) { headers.append(HeaderField("Last-Event-ID", cursor)) }
    do throws(TransportError) {
      let stream = try await transport.open(
        TransportRequest(method: "GET", url: url, headers: headers, timeout: silence, mayReuseConnection: false))
      guard stream.status == 200 else { return (.status(stream.status), false) }
      guard stream.headers.first(named: "Content-Type")?.lowercased().hasPrefix("text/event-stream") == true else {
        return (.notValid("not an event stream"), false)
      }
      return await follow(stream.body)
    } catch { return (.transport(error), false) }
  }

  private func follow(_ body: AsyncThrowingStream<[UInt8], any Error>) async -> (FeedError, wasUseful: Bool) {
    let begun = clock.uptime()
    state.withLock { state in
      state.feed.connected()
      state.heardAt = begun
    }
    let fault = await withTaskGroup(of: FeedError.self) { group in
      group.addTask { await self.read(body) }
      group.addTask { await self.watch() }
      defer { group.cancelAll() }
      return await group.next() ?? .ended
    }
    let uptime = clock.uptime()
    return (fault, state.withLock { $0.feed.standing(at: uptime) == .live })
  }

  private func read(_ body: AsyncThrowingStream<[UInt8], any Error>) async -> FeedError {
    var parser = FeedParser()
    do {
      for try await bytes in body {
        let uptime = clock.uptime()
        let earliest = clock.now().advanced(by: .zero - leeway).seconds
        state.withLock { $0.heardAt = uptime }
        try parser.parse(bytes) { event throws(FeedError) in
          let result = state.withLock { state -> FeedError? in
            do throws(FeedError) {
              try state.feed.take(event, at: uptime, leavingOutBefore: earliest)
              state.feed.removeExpired(at: earliest)
              return nil
            } catch { return error }
          }
          if let result { throw result }
          if event.name == "revocations" { ring() }
        }
      }
      return .ended
    } catch let fault as FeedError {
      return fault
    } catch {
      return .transport(error as? TransportError ?? .connectionLost("\(type(of: error))"))
    }
  }

  /// Returns when nothing has arrived for too long. Meanwhile it makes room in the list.
  private func watch() async -> FeedError {
    while (try? await Task.sleep(for: .seconds(1))) != nil {
      let uptime = clock.uptime()
      let earliest = clock.now().advanced(by: .zero - leeway).seconds
      let quiet = state.withLock { state in
        state.feed.removeExpired(at: earliest)
        return uptime - state.heardAt
      }
      ring()
      if quiet > silence { return .silent }
    }
    return .ended
  }
}

extension FeedError: CustomStringConvertible {
  var description: String {
    switch self {
    case .transport(let error): "\(error)"
    case .status(let status): "the server returned \(status)"
    case .notValid(let what): what
    case .silent: "the server has been silent"
    case .full: "there are more revoked sessions than the capacity"
    case .ended: "the server ended the stream"
    }
  }
}
#endif
