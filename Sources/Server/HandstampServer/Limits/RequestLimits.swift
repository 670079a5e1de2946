#if Server
import HandstampCore
import HandstampSupport
import Hummingbird

/// Applies the operator's limits to requests: token buckets in memory (generic cell rate algorithm: a bucket is the time at which it is
/// full again).
struct RequestLimits: Sendable {
  /// The owner of a bucket.
  private enum Subject: Sendable, Hashable {
    case everyone
    /// A network; `nil` are the clients whose address is not known.
    case address(IPAddress?)
    case named(String)
  }

  private struct Key: Hashable {
    var operation: ServerLimits.Operation
    var subject: Subject
  }

  /// Which buckets of an operation.
  struct Buckets: OptionSet {
    let rawValue: Int
    /// Those of the client's address and of the subject.
    static let own = Buckets(rawValue: 1)
    /// That of all clients together.
    static let shared = Buckets(rawValue: 2)
  }

  private struct Content {
    /// When each bucket is full again. One that is full is the same as none.
    var fullAt: [Key: Duration] = [:]
    var nextSweep = 0
  }

  /// Buckets are swept when there are this many. Full ones are the same as none; of the others, only those of addresses are ever
  /// forgotten, when there are too many to keep: an attacker who has that many has no use for one more of each.
  private static let sweepSize = 20_000
  private static let most = 1_000_000

  /// Maximum size of a body, in bytes.
  let bodySize: Int
  private let rules: ServerLimits
  private let proxies: TrustedProxies
  private let metrics: ServerMetrics
  /// A monotonic clock.
  private let uptime: @Sendable () -> Duration
  private let content: Locked<Content>

  /// - Parameter previous: limits whose buckets these continue with if the rules are the same; else all are full.
  init(
    _ rules: ServerLimits, bodySize: Int, behind proxies: TrustedProxies, metrics: ServerMetrics,
    uptime: @escaping @Sendable () -> Duration, continuing previous: RequestLimits? = nil
  ) {
    self.bodySize = bodySize
    self.rules = rules
    self.proxies = proxies
    self.metrics = metrics
    self.uptime = uptime
    content = previous.flatMap { $0.rules == rules ? $0.content : nil } ?? Locked(Content())
  }

  /// Returns where a request comes from.
  func client(of request: Request, _ context: some SessionRequestContext) -> ClientAddress {
    ClientAddress(of: request.headers, peer: context.channel.remoteAddress, behind: proxies)
  }

  /// Takes one from all these buckets of an operation, or none if one is empty.
  ///
  /// - Parameters:
  ///   - client: where the request comes from; `nil` if there is no limit by address.
  ///   - subject: what it is about; `nil` if there is no limit by subject, or it was taken before.
  ///   - which: ``Buckets/own`` for a request that may turn out to be worthless: it must use up nothing that others need. If it is worth
  ///     its work, ``Buckets/shared`` follows.
  /// - Throws: ``AccountError`` `rate_limited` with the time until the same request may succeed.
  func take(
    _ operation: ServerLimits.Operation, from client: ClientAddress?, about subject: String? = nil,
    _ which: Buckets = [.own, .shared]
  ) throws(AccountError) {
    let rule = rules[operation]
    var wanted: [(Key, RateLimit)] = []
    if which.contains(.own), let limit = rule.perAddress, let client {
      wanted.append((Key(operation: operation, subject: .address(client.address?.network)), limit))
    }
    if which.contains(.own), let limit = rule.perSubject, let subject {
      wanted.append((Key(operation: operation, subject: .named(subject)), limit))
    }
    if which.contains(.shared), let limit = rule.overall {
      wanted.append((Key(operation: operation, subject: .everyone), limit))
    }
    guard !wanted.isEmpty, let (limit, wait) = refusal(of: wanted, at: uptime()) else { return }
    metrics.update { $0.rateLimited += 1 }
    throw .rateLimited(LimitReached(name: operation.rawValue, limit: limit, wait: wait))
  }

  /// Takes one from each bucket. If one is empty, returns its limit and when it has one more, and takes nothing.
  private func refusal(of wanted: [(Key, RateLimit)], at now: Duration) -> (RateLimit, wait: Duration)? {
    content.withLock { content in
      for (key, limit) in wanted {
        let debt = (content.fullAt[key] ?? now) - now
        let room = limit.window - limit.interval
        if debt > room { return (limit, debt - room) }
      }
      for (key, limit) in wanted { content.fullAt[key] = max(content.fullAt[key] ?? now, now) + limit.interval }
      if content.fullAt.count >= max(content.nextSweep, RequestLimits.sweepSize) {
        content.fullAt = content.fullAt.filter { $0.value > now }
        // Not before as many are new, so that a sweep costs little per request.
        content.nextSweep = content.fullAt.count * 2
        if content.fullAt.count >= RequestLimits.most {
          content.fullAt = content.fullAt.filter { if case .address = $0.key.subject { false } else { true } }
        }
      }
      return nil
    }
  }

  /// The number of buckets that are not full, at most twice as many.
  var count: Int { content.withLock { $0.fullAt.count } }
}

/// A limit that a caller has reached.
struct LimitReached: Sendable, Hashable {
  /// Names the limit in responses.
  let name: String
  let limit: RateLimit
  /// The time until the same request may succeed.
  let wait: Duration

  /// In seconds.
  var retryAfter: Int { Int(clamping: max(1, wait.roundedUpSeconds)) }
}
#endif
