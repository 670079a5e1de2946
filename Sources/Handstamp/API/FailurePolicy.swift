/// What happens to a call of an API that fails in passing: how often it is asked again, and for how long the failure answers
/// for the API.
///
/// In passing are a connection that failed or a time-out, and the statuses 408, 425, 429, 502, 503 and 504. Everything else
/// is the API's last word and comes back at once, a 500 included: nobody knows what it left behind.
///
/// Only requests that may be sent twice are asked again: those with an idempotent method (RFC 9110 section 9.2.2) and those
/// that carry an `Idempotency-Key`. Others are sent once, whatever the policy says.
///
/// | | `standard` | `once` |
/// |---|---|---|
/// | used for, unless said otherwise | GET, HEAD, OPTIONS | all other methods |
/// | attempts | 3 | 1 |
/// | bounds of the waits between them | 250 ms, 500 ms | |
/// | remembers a failure | at most 5 min | never |
public struct FailurePolicy: Sendable, Hashable {
  /// How often to ask, and the exponential back-off with full jitter between two attempts.
  public var retry: RetryPolicy
  /// The longest wait between two attempts that a caller is kept for. Where the server (`Retry-After`) or the back-off asks
  /// for more, the caller gets the failure at once.
  public var patience: Duration
  /// The longest time for which a failure is remembered. Zero: not at all.
  ///
  /// A failure is remembered for as long as `Retry-After` says, else for the next wait of the back-off. In this time
  /// everybody who asks the same gets it without a question; those who ask the same at the same time wait for the first of
  /// them, so that forty callers do not ask forty times. An answer is nobody's but the caller's who asked for it.
  public var longestMemory: Duration

  public init(retry: RetryPolicy, patience: Duration = .seconds(2), longestMemory: Duration = .seconds(300)) {
    self.retry = retry
    self.patience = max(.zero, patience)
    self.longestMemory = max(.zero, longestMemory)
  }

  /// Three attempts within about a second, and failures are remembered.
  public static let standard = FailurePolicy(retry: RetryPolicy(attempts: 3))
  /// One attempt, and nothing is remembered.
  public static let once = FailurePolicy(retry: RetryPolicy(attempts: 1), longestMemory: .zero)

  /// The wait after the attempt with this number. `Retry-After` counts in full: asking earlier than a server wants helps
  /// nobody.
  func wait(afterAttempt attempt: Int, entropy: UInt64, retryAfter: Duration?) -> Duration {
    retryAfter ?? retry.delay(afterAttempt: attempt, entropy: entropy, retryAfter: nil)
  }

  /// How long to remember a failure, with `wait` as the next wait.
  func memory(of wait: Duration, isServers: Bool) -> Duration {
    // Full jitter may come to nothing, and a memory of nothing lets everybody ask at once.
    min(isServers ? wait : max(wait, retry.base), longestMemory)
  }
}

extension TransportRequest {
  /// Whether asking once more does no more than asking once.
  var mayRepeat: Bool {
    ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(method.uppercased())
      || headers.first(named: "Idempotency-Key") != nil
  }

  /// What is meant where nobody said anything.
  func failures(default policy: FailurePolicy) -> FailurePolicy {
    ["GET", "HEAD", "OPTIONS"].contains(method.uppercased()) ? policy : .once
  }
}

extension TransportResponse {
  /// Whether the same request may fare better later.
  var failsInPassing: Bool { [408, 425, 429, 502, 503, 504].contains(status) }
}

extension TransportError {
  /// Whether the same request may fare better later.
  var isInPassing: Bool {
    switch self {
    case .notConnected, .unreachable, .timedOut: true
    case .cancelled, .tooLarge, .invalidRequest: false
    }
  }
}
