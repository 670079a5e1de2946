#if Server
import HandstampCore
import HandstampSupport

/// The token buckets of all limits, in memory (generic cell rate algorithm: a bucket is the time at which it is full again).
final class RateLimiter: Sendable {
  /// Whose bucket it is.
  enum Subject: Sendable, Hashable {
    case everyone
    /// A network; `nil` are the clients whose address is not known.
    case address(IPAddress?)
    case named(String)
  }

  /// A refusal.
  struct Refusal: Error, Hashable {
    var limit: RateLimit
    /// Until one more is allowed.
    var wait: Duration
  }

  private struct Key: Hashable {
    var operation: ServerLimits.Operation
    var subject: Subject
  }

  private struct Buckets {
    /// When each bucket is full again. One that is full is the same as none.
    var fullAt: [Key: Duration] = [:]
    var nextSweep = 0
  }

  /// Buckets are swept when there are this many. Memory is bounded by what the limits of all clients together admit, not by
  /// forgetting: an attacker with many addresses could otherwise make the server forget what it counts.
  private static let sweepSize = 20_000
  private static let most = 1_000_000

  private let rules: ServerLimits
  /// A monotonic clock.
  private let uptime: @Sendable () -> Duration
  private let buckets = Locked(Buckets())

  init(_ rules: ServerLimits, uptime: @escaping @Sendable () -> Duration) {
    self.rules = rules
    self.uptime = uptime
  }

  /// Returns this limiter if its rules are `rules`, else a new one with full buckets.
  func continued(with rules: ServerLimits) -> RateLimiter {
    rules == self.rules ? self : RateLimiter(rules, uptime: uptime)
  }

  /// Takes one from each bucket of the operation, or nothing if one of them is empty.
  ///
  /// - Parameters:
  ///   - client: where the request comes from; `nil` if there is no limit by address.
  ///   - subject: what it is about; `nil` if there is no limit by subject, or it was taken before.
  ///   - isPrivileged: whether the limit of all clients together does not apply.
  func take(
    _ operation: ServerLimits.Operation, from client: ClientAddress?, about subject: String?, isPrivileged: Bool = false
  ) throws(Refusal) {
    let rule = rules[operation]
    var wanted: [(Key, RateLimit)] = []
    if let limit = rule.perAddress, let client {
      wanted.append((Key(operation: operation, subject: .address(client.address?.network)), limit))
    }
    if let limit = rule.perSubject, let subject {
      wanted.append((Key(operation: operation, subject: .named(subject)), limit))
    }
    if let limit = rule.overall, !isPrivileged {
      wanted.append((Key(operation: operation, subject: .everyone), limit))
    }
    guard !wanted.isEmpty else { return }
    let now = uptime()
    let refusal = buckets.withLock { buckets -> Refusal? in
      for (key, limit) in wanted {
        let debt = (buckets.fullAt[key] ?? now) - now
        let room = limit.window - limit.interval
        if debt > room { return Refusal(limit: limit, wait: debt - room) }
      }
      for (key, limit) in wanted { buckets.fullAt[key] = max(buckets.fullAt[key] ?? now, now) + limit.interval }
      if buckets.fullAt.count >= max(buckets.nextSweep, RateLimiter.sweepSize) {
        buckets.fullAt = buckets.fullAt.filter { $0.value > now }
        // Not before as many are new, so that a sweep costs little per request.
        buckets.nextSweep = buckets.fullAt.count * 2
        // Only without a limit of all clients together can there be so many.
        if buckets.fullAt.count >= RateLimiter.most { buckets.fullAt = [:] }
      }
      return nil
    }
    if let refusal { throw refusal }
  }

  /// The number of buckets that are not full, at most twice as many.
  var count: Int { buckets.withLock { $0.fullAt.count } }
}
#endif
