#if Server
import CoreMetrics
import HandstampHTTP

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
