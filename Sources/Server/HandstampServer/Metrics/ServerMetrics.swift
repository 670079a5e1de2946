#if Server
public import CoreMetrics
import HandstampCore
import HandstampHTTP
import HandstampSupport
import Metrics

/// Counters since the server's start. They are cheap to update; ``publish()`` passes them on to swift-metrics, as
/// `handstamp_sign_ins_total` and so on.
public final class ServerMetrics: Sendable {
  /// All counters at one moment. The text beside each one describes it on the metrics page, and here.
  public struct Snapshot: Sendable, Hashable {
    @Metric("sign_ups_total", "Accounts created by sign-up.") public var signUps = 0
    @Metric("sign_ins_total", "Sessions begun by a password or another identity provider.") public var signIns = 0
    @Metric("guests_total", "Guest accounts created.") public var guests = 0
    @Metric("upgrades_total", "Guest accounts upgraded to full ones.") public var upgrades = 0
    @Metric("password_changes_total", "Passwords changed or reset.") public var passwordChanges = 0
    @Metric("accounts_deleted_total", "Accounts deleted.") public var accountsDeleted = 0
    @Metric("mails_sent_total", "Mails handed over for delivery.") public var mailsSent = 0
    @Metric("mails_failed_total", "Attempts to hand a mail over that failed.") public var mailsFailed = 0
    @Metric("mails_abandoned_total", "Mails that were given up.") public var mailsAbandoned = 0
    @Metric("logouts_sent_total", "Clients told that a session has ended.") public var logoutsSent = 0
    @Metric("logouts_failed_total", "Attempts to tell a client of an ended session that failed.")
    public var logoutsFailed = 0
    @Metric("logouts_abandoned_total", "Ended sessions that a client could not be told of.")
    public var logoutsAbandoned = 0
    @Metric("upstream_ends_total", "Events of providers that ended sessions.") public var upstreamEnds = 0
    @Metric("upstream_unknown_total", "Events of providers about users or sessions without a session here.")
    public var upstreamUnknown = 0
    @Metric("upstream_repeats_total", "Events of providers that had been applied before.")
    public var upstreamRepeats = 0
    @Metric("upstream_refusals_total", "Events that were not a provider's, or not for this server.")
    public var upstreamRefusals = 0
    @Metric("webhooks_sent_total", "Events that receivers of webhooks have taken.") public var webhooksSent = 0
    @Metric("webhooks_failed_total", "Attempts to tell a receiver of an event that failed.")
    public var webhooksFailed = 0
    @Metric("webhooks_abandoned_total", "Events that a receiver has not taken for a day.")
    public var webhooksAbandoned = 0
    @Metric("webhook_backlog", "Events that receivers are still to be told of.") public var webhookBacklog = 0
    @Metric("former_sessions_total", "Sessions taken over from the former system.") public var formerSessions = 0
    @Metric("former_refusals_total", "Tokens of the former system that were refused.") public var formerRefusals = 0
    @Metric("former_losses_total", "Sessions of the former system lost with a response of its token endpoint.")
    public var formerLosses = 0
    /// Sessions ended at the former system after they were taken over.
    @Metric("former_ends_total", "Sessions ended at the former system.") public var formerEnds = 0
    @Metric("former_ends_abandoned_total", "Sessions that could not be ended at the former system.")
    public var formerEndsAbandoned = 0
    @Metric("pruned_total", "Rows deleted after their retention.") public var pruned = 0
    @Metric("refused_sign_ins_total", "Sign-ins with a wrong address or password.") public var refusedSignIns = 0
    @Metric("guesses_stopped_total", "Passwords not checked, because too many were wrong.")
    public var guessesStopped = 0
    /// Requests refused because of ``ServerConfiguration/limits``.
    @Metric("rate_limited_total", "Requests refused because of a limit.") public var rateLimited = 0
    /// Argon2 runs for any purpose.
    @Metric("password_hashes_total", "Runs of Argon2.") public var passwordHashes = 0
    @Metric("password_queue", "Requests that hash a password, or wait for it.") public var passwordQueue = 0
    @Metric("rotations_total", "Refreshes that rotated the token.") public var rotations = 0
    @Metric("repeats_total", "Retried refreshes that got the same successor.") public var repeats = 0
    @Metric("kept_tokens_total", "Refreshes of clients with a secret or a proof, whose refresh token stayed.")
    public var kept = 0
    @Metric("superseded_total", "Refreshes with a token and key that were answered long ago.") public var superseded = 0
    @Metric("thefts_total", "Sessions ended because a refresh token was used twice.") public var thefts = 0
    @Metric("fast_forwards_total", "Refreshes with a token ahead of a store that had lost commits.")
    public var fastForwards = 0
    @Metric("garbage_total", "Refresh tokens that this server did not issue, or that were damaged.")
    public var garbage = 0
    @Metric("revocations_total", "Sessions ended by request.") public var revocations = 0
    @Metric("refused_tokens_total", "Requests refused because of their access token.") public var refusedTokens = 0
    @Metric("open_streams", "Open event streams.") public var openStreams = 0
    @Metric("replaced_streams_total", "Event streams that ended for a newer one of their session.")
    public var replacedStreams = 0
    @Metric("refused_streams_total", "Event streams refused because too many were open.") public var refusedStreams = 0
    @Metric("events_sent_total", "Events written to streams.") public var eventsSent = 0
    @Metric("open_feeds", "Open revocation feeds of verifiers.") public var openFeeds = 0
    @Metric("refused_feeds_total", "Revocation feeds refused because too many were open.") public var refusedFeeds = 0
    @Metric("revocations_sent_total", "Ended sessions written to revocation feeds.") public var revocationsSent = 0
    @Metric("connections_total", "Connections accepted.") public var connections = 0
    @Metric("open_connections", "Open connections.") public var openConnections = 0
    @Metric("closed_idle_connections_total", "Idle connections closed for new ones.")
    public var closedIdleConnections = 0
    /// Connections closed at once, because no idle one could be closed for them.
    @Metric("refused_connections_total", "Connections closed at once, because too many were open.")
    public var refusedConnections = 0
    /// Failures to accept a connection, such as a lack of descriptors.
    @Metric("accept_failures_total", "Failures to accept a connection.") public var acceptFailures = 0
    @Metric("slow_requests_total", "Requests that took too long to arrive.") public var slowRequests = 0
    /// Connections of HTTP/2 that were closed because of what came beside their requests.
    @Metric("idle_frames_total", "Connections closed because much came that was part of no request.")
    public var idleFrames = 0
    @Metric("slow_readers_total", "Connections closed because the client accepted no response.")
    public var slowReaders = 0
    @Metric("certificates_loaded_total", "Certificates loaded while the server ran.") public var certificatesLoaded = 0
    @Metric("certificates_refused_total", "New certificates that could not be used.") public var certificatesRefused = 0
    @Metric("store_failures_total", "Failed operations of the store.") public var storeFailures = 0
    @Metric("background_failures_total", "Failed pieces of work that no request waits for, named in the log.")
    public var backgroundFailures = 0
    @Metric("missing_keys", "Master keys that this server does not have, and that something depends on.")
    public var missingKeys = 0
    @Metric("store_accounts", "Accounts in the store, counted every minute.") public var storedAccounts = 0
    @Metric("store_sessions", "Sessions in the store that have not ended, counted every minute.")
    public var storedSessions = 0

    /// All of them, as the metrics page names them.
    var metrics: [Metric] { Mirror(reflecting: self).children.compactMap { $0.value as? Metric } }
  }

  /// The instruments of the published metrics, in the order of ``Snapshot/metrics``, and those of the requests.
  private struct Publication: Sendable {
    var instruments: [Instrument] = []
    var timers: [RequestLabels: Timer] = [:]
  }

  private let factory: any MetricsFactory
  private let counters = Locked(Snapshot())
  private let publication = Locked(Publication())

  /// - Parameter factory: the backend of swift-metrics; the system's by default.
  public init(factory: any MetricsFactory = MetricsSystem.factory) {
    self.factory = factory
  }

  public var snapshot: Snapshot { counters.withLock { $0 } }

  func update(_ change: (inout Snapshot) -> Void) {
    counters.withLock { change(&$0) }
  }

  /// Passes the counters on to swift-metrics. A running server does it every second, and before each response of its metrics page.
  public func publish() {
    publication.withLock { publication in
      for (index, metric) in snapshot.metrics.enumerated() {
        if index == publication.instruments.count { publication.instruments.append(Instrument(metric, factory)) }
        publication.instruments[index].publish(metric.wrappedValue)
      }
    }
  }

  /// Records how long a request took until its response began.
  func record(_ labels: RequestLabels, _ duration: Duration) {
    let timer = publication.withLock { publication in
      if let known = publication.timers[labels] { return known }
      let timer = Timer(
        label: ServerMetrics.requestDuration,
        dimensions: [("method", labels.method), ("route", labels.route), ("status", "\(labels.status)")],
        factory: factory)
      publication.timers[labels] = timer
      return timer
    }
    timer.recordNanoseconds(duration.wholeNanoseconds)
  }

  private static let requestDuration = "handstamp_request_duration_seconds"

  /// The descriptions of all metrics, by name.
  static let help = Dictionary(uniqueKeysWithValues: Snapshot().metrics.map { ($0.name, $0.help) }).merging([
    requestDuration: "Time from the head of a request to the head of its response.",
    "handstamp_build_info": "The version of the server, with the value 1.",
  ]) { $1 }
}

/// Which requests are measured together.
struct RequestLabels: Hashable, Sendable {
  var method: String
  /// The pattern of the route, never the path itself.
  var route: String
  var status: Int
}

extension ServerMetrics {
  /// Counts for the server's listener.
  func add(_ number: Int, to count: ListenerCount) {
    let place: WritableKeyPath<Snapshot, Int> =
      switch count {
      case .connections: \.connections
      case .openConnections: \.openConnections
      case .closedIdleConnections: \.closedIdleConnections
      case .refusedConnections: \.refusedConnections
      case .acceptFailures: \.acceptFailures
      case .slowRequests: \.slowRequests
      case .idleFrames: \.idleFrames
      case .slowReaders: \.slowReaders
      case .certificatesLoaded: \.certificatesLoaded
      case .certificatesRefused: \.certificatesRefused
      }
    update { $0[keyPath: place] += number }
  }

  /// A number of ``Snapshot``, and its name and description for the metrics page. The names follow Prometheus: a counter,
  /// which only grows while the server runs, ends in `_total`; the others are levels at the moment.
  @propertyWrapper public struct Metric: Sendable, Hashable {
    public var wrappedValue: Int
    private let label: String
    let help: String

    public init(wrappedValue: Int, _ label: String, _ help: String) {
      self.wrappedValue = wrappedValue
      self.label = label
      self.help = help
    }

    var name: String { "handstamp_" + label }
    fileprivate var isCounter: Bool { label.hasSuffix("_total") }
  }

  /// A metric's instrument of swift-metrics.
  struct Instrument: Sendable {
    private enum Kind: Sendable {
      case counter(Counter)
      case gauge(Gauge)
    }

    private let kind: Kind
    private var published: Int?

    init(_ metric: Metric, _ factory: any MetricsFactory) {
      kind =
        metric.isCounter
        ? .counter(Counter(label: metric.name, dimensions: [], factory: factory))
        : .gauge(Gauge(label: metric.name, dimensions: [], factory: factory))
    }

    mutating func publish(_ value: Int) {
      guard value != published else { return }
      switch kind {
      case .counter(let counter): counter.increment(by: max(0, value - (published ?? 0)))
      case .gauge(let gauge): gauge.record(value)
      }
      published = value
    }
  }
}
#endif
