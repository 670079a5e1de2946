#if Server
import HandstampCore
import HandstampSupport
import Hummingbird

/// Applies the operator's limits to requests.
struct RequestLimits: Sendable {
  let limiter: RateLimiter
  let proxies: TrustedProxies
  let metrics: ServerMetrics

  /// Returns where a request comes from.
  func client(of request: Request, _ context: some SessionRequestContext) -> ClientAddress {
    ClientAddress(of: request.headers, peer: context.channel.remoteAddress, behind: proxies)
  }

  /// Takes one from all these buckets of an operation, or none if one is empty.
  ///
  /// - Parameter buckets: ``RateLimiter/Buckets/own`` for a request that may turn out to be worthless: it must use up nothing that
  ///   others need. If it is worth its work, ``RateLimiter/Buckets/shared`` follows.
  /// - Throws: ``ProblemError`` `rate_limited` with the time until the same request may succeed.
  func take(
    _ operation: ServerLimits.Operation, from client: ClientAddress?, about subject: String? = nil,
    _ buckets: RateLimiter.Buckets = [.own, .shared]
  ) throws(ProblemError) {
    guard let refusal = limiter.take(operation, from: client, about: subject, buckets) else { return }
    metrics.update { $0.rateLimited += 1 }
    throw .rateLimited(operation.rawValue, refusal.limit, wait: refusal.wait)
  }
}

extension ProblemError {
  /// 429 (RFC 6585 section 4) with the fields of draft-ietf-httpapi-ratelimit-headers.
  static func rateLimited(_ name: String, _ limit: RateLimit, wait: Duration) -> ProblemError {
    let seconds = Int(clamping: max(1, wait.roundedUpSeconds))
    return ProblemError(
      .tooManyRequests, "rate_limited", "Too many attempts", detail: "Try again later.", retryAfter: seconds,
      headers: [
        .rateLimitPolicy: "\"\(name)\";q=\(limit.burst);w=\(max(1, limit.window.roundedUpSeconds))",
        .rateLimit: "\"\(name)\";r=0;t=\(seconds)",
      ])
  }
}
#endif
