#if Server
import HandstampCore
import HandstampSupport

/// The token buckets of all limits, in memory (generic cell rate algorithm: a bucket is the time at which it is full again).
final class RateLimiter: Sendable {
  /// The owner of a bucket.
  enum Subject: Sendable, Hashable {
    case everyone
    /// A network; `nil` are the clients whose address is not known.
    case address(IPAddress?)
    case named(String)
  }

  /// A refusal.
  struct Refusal: Hashable {
    var limit: RateLimit
    /// Until one more is allowed.
    var wait: Duration
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

  private let rules: ServerLimits
  /// A monotonic clock.
  private let uptime: @Sendable () -> Duration
  private let content = Locked(Content())

  init(_ rules: ServerLimits, uptime: @escaping @Sendable () -> Duration) {
    self.rules = rules
    self.uptime = uptime
  }

  /// Returns this limiter if its rules are `rules`, else a new one with full buckets.
  func continued(with rules: ServerLimits) -> RateLimiter {
    rules == self.rules ? self : RateLimiter(rules, uptime: uptime)
  }

  /// Takes one from each of the operation's buckets, or nothing if one of them is empty.
  ///
  /// - Parameters:
  ///   - client: where the request comes from; `nil` if there is no limit by address.
  ///   - subject: what it is about; `nil` if there is no limit by subject, or it was taken before.
  /// - Returns: `nil` if they were taken.
  func take(
    _ operation: ServerLimits.Operation, from client: ClientAddress?, about subject: String?,
    _ which: Buckets = [.own, .shared]
  ) -> Refusal? {
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
    guard !wanted.isEmpty else { return nil }
    let now = uptime()
    return content.withLock { content in
      for (key, limit) in wanted {
        let debt = (content.fullAt[key] ?? now) - now
        let room = limit.window - limit.interval
        if debt > room { return Refusal(limit: limit, wait: debt - room) }
      }
      for (key, limit) in wanted { content.fullAt[key] = max(content.fullAt[key] ?? now, now) + limit.interval }
      if content.fullAt.count >= max(content.nextSweep, RateLimiter.sweepSize) {
        content.fullAt = content.fullAt.filter { $0.value > now }
        // Not before as many are new, so that a sweep costs little per request.
        content.nextSweep = content.fullAt.count * 2
        if content.fullAt.count >= RateLimiter.most {
          content.fullAt = content.fullAt.filter { if case .address = $0.key.subject { false } else { true } }
        }
      }
      return nil
    }
  }

  /// The number of buckets that are not full, at most twice as many.
  var count: Int { content.withLock { $0.fullAt.count } }
}
#endif
