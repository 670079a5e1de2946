/// How an API call that fails is retried, and whether the failure is remembered.
///
/// Transient failures are a failed connection, a time-out, and the statuses 408, 425, 429, 502, 503 and 504. Every other
/// response is final and is returned at once, including 500, whose effects are unknown.
///
/// Only requests that may be sent twice are retried: those with an idempotent method (RFC 9110 section 9.2.2) and those with an
/// `Idempotency-Key`. Others are sent once, whatever the policy says.
///
/// | | ``standard`` | ``once`` | ``remembering`` |
/// |---|---|---|---|
/// | default for | GET, HEAD, OPTIONS | all other methods | – |
/// | attempts | 3 | 1 | 3 |
/// | upper bounds of the delays between them | 250 ms, 500 ms | | 250 ms, 500 ms |
/// | remembers a failure | no | no | at most 5 min |
public struct APIRetryPolicy: Sendable, Hashable {
  /// The number of attempts, and the exponential back-off with full jitter between them. Its ``RetryPolicy/cap`` does not limit
  /// `Retry-After`: that counts in full, and ``maxWait`` decides.
  public var retry: RetryPolicy
  /// The longest delay between two attempts. If the server (`Retry-After`) or the back-off requires more, the caller gets the
  /// failure at once. Default 2 s.
  public var maxWait: Duration
  /// The longest time that a failure is remembered. Zero (the default) disables it.
  ///
  /// A failure is remembered for the time of `Retry-After`, otherwise for the next delay of the back-off. Until then callers of
  /// the same request get the failure without a request, and concurrent callers share one request. Only failures are shared;
  /// responses never are.
  public var failureCacheLifetime: Duration

  public init(retry: RetryPolicy, maxWait: Duration = .seconds(2), failureCacheLifetime: Duration = .zero) {
    self.retry = retry
    self.maxWait = max(.zero, maxWait)
    self.failureCacheLifetime = max(.zero, failureCacheLifetime)
  }

  /// Three attempts within about a second.
  public static let standard = APIRetryPolicy(retry: RetryPolicy(attempts: 3))
  /// One attempt.
  public static let once = APIRetryPolicy(retry: RetryPolicy(attempts: 1))
  /// ``standard``, with failures remembered for at most 5 min: for many callers of one API.
  public static let remembering = APIRetryPolicy(
    retry: RetryPolicy(attempts: 3), failureCacheLifetime: .seconds(300))

  /// Returns the delay after the attempt with this number. `Retry-After` counts in full: an earlier attempt would be refused
  /// again.
  func wait(afterAttempt attempt: Int, entropy: UInt64, retryAfter: Duration?) -> Duration {
    retryAfter ?? retry.delay(afterAttempt: attempt, entropy: entropy, retryAfter: nil)
  }

  /// Returns how long to remember a failure, where `wait` is the next delay.
  func memory(of wait: Duration, isServers: Bool) -> Duration {
    // Full jitter may return zero, and with no memory at all every caller would send a request at once.
    min(isServers ? wait : max(wait, retry.base), failureCacheLifetime)
  }
}

extension TransportRequest {
  /// Whether repeating the request has no further effect.
  var mayRepeat: Bool {
    ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(method.uppercased())
      || headers.first(named: "Idempotency-Key") != nil
  }

  /// Returns the retry policy of a request without its own.
  func retryPolicy(default policy: APIRetryPolicy) -> APIRetryPolicy {
    ["GET", "HEAD", "OPTIONS"].contains(method.uppercased()) ? policy : .once
  }
}

extension TransportResponse {
  /// Whether the same request may succeed later.
  var isTransientFailure: Bool { [408, 425, 429, 502, 503, 504].contains(status) }
}

extension TransportError {
  /// Whether the same request may succeed later.
  var isTransient: Bool {
    switch self {
    case .notConnected, .connectionLost, .timedOut: true
    case .cancelled, .tooLarge, .invalidRequest: false
    }
  }
}
