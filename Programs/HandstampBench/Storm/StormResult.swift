#if Programs && os(Linux)
import HandstampCore

/// The answers and waits of all sessions of a storm.
struct StormResult: Codable {
  /// One session; times in seconds from the beginning.
  struct Session: Codable {
    var first: Double?
    /// When its new tokens were stored.
    var served: Double?
    var requests = 0
    /// How often a token was presented again.
    var repeats = 0
    /// Why it was signed out.
    var end: String?
  }

  var sessions: [Session] = []
  /// Requests and responses of each second, by kind.
  var counts: [String: [Int]] = [:]
  /// Tries after `Retry-After`, and before.
  var obeyed = 0
  var hasty = 0
  /// Callers who got an error, because four attempts had failed.
  var failedCallers = 0
  /// How much later than planned the first use of an app was, at most, in seconds.
  var lateness = 0.0
  /// Of the load, in seconds.
  var processorTime = 0.0

  mutating func count(_ kind: String, at time: Duration) {
    let second = max(0, Int(time.components.seconds))
    var counts = counts[kind, default: []]
    while counts.count <= second { counts.append(0) }
    counts[second] += 1
    self.counts[kind] = counts
  }

  mutating func add(_ other: StormResult) {
    sessions += other.sessions
    for (kind, numbers) in other.counts {
      for (second, number) in numbers.enumerated() { for _ in 0..<number { count(kind, at: .seconds(second)) } }
    }
    obeyed += other.obeyed
    hasty += other.hasty
    failedCallers += other.failedCallers
    lateness = max(lateness, other.lateness)
    processorTime += other.processorTime
  }

  static func name(of result: RefreshResult) -> String {
    switch result {
    case .granted: "served"
    case .rejected(let reason): "rejected: \(reason)"
    case .superseded: "superseded"
    case .noDecision(.network(.notConnected), _): "not connected"
    case .noDecision(.network(.connectionLost), _): "connection lost"
    case .noDecision(.network(.timedOut), _): "timed out"
    case .noDecision(.server(let response), let pause), .noDecision(.configuration(let response), let pause):
      "\(response.status)\(pause == nil ? "" : " with Retry-After")"
    case .noDecision: "other"
    }
  }
}
#endif
