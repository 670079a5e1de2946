#if Server
public import CoreMetrics
import HandstampSupport

/// A backend of swift-metrics that keeps all values in memory and writes them in Prometheus' text format, version 0.0.4.
///
/// | swift-metrics | Prometheus |
/// |---|---|
/// | `Counter`, `FloatingPointCounter` | counter; its name should end in `_total` |
/// | `Gauge`, `Meter` | gauge |
/// | `Timer` | histogram of seconds, see ``bounds`` |
/// | `Recorder` | histogram of the recorded values |
public final class PrometheusMetrics: MetricsFactory {
  /// The upper bounds of a histogram's buckets. Beside them there is one without a bound.
  public static let bounds: [Double] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
  ]

  private let series = Locked<[Series.ID: Series]>([:])
  private let help: [String: String]

  /// - Parameter help: the descriptions of metrics by name.
  public init(help: [String: String] = [:]) {
    self.help = help.merging(ServerMetrics.help) { $1 }
  }

  public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    series(.counter, label, dimensions)
  }

  public func makeFloatingPointCounter(
    label: String, dimensions: [(String, String)]
  ) -> any FloatingPointCounterHandler { series(.counter, label, dimensions) }

  public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    series(.gauge, label, dimensions)
  }

  public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    series(aggregate ? .histogram : .gauge, label, dimensions)
  }

  public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    series(.histogram, label, dimensions)
  }

  public func destroyCounter(_ handler: any CounterHandler) { destroy(handler) }
  public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { destroy(handler) }
  public func destroyMeter(_ handler: any MeterHandler) { destroy(handler) }
  public func destroyRecorder(_ handler: any RecorderHandler) { destroy(handler) }
  public func destroyTimer(_ handler: any TimerHandler) { destroy(handler) }

  /// The `Content-Type` of ``text``.
  public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  /// All metrics, in the order of their names.
  public var text: String {
    let all = series.withLock { Array($0.values) }
    var text = ""
    for (name, members) in Dictionary(grouping: all, by: \.id.name).sorted(by: { $0.key < $1.key }) {
      guard let kind = members.first?.kind else { continue }
      if let help = help[name] { text += "# HELP \(name) \(PrometheusText.help(help))\n" }
      text += "# TYPE \(name) \(kind.rawValue)\n"
      // Metrics of one name have one kind; the first one decides.
      for member in members.sorted(by: { $0.id < $1.id }) where member.kind == kind { text += member.lines }
    }
    return text
  }

  private func series(_ kind: Series.Kind, _ label: String, _ dimensions: [(String, String)]) -> Series {
    let id = Series.ID(label, dimensions)
    return series.withLock { series in
      if let known = series[id], known.kind == kind { return known }
      let new = Series(id, kind)
      series[id] = new
      return new
    }
  }

  private func destroy(_ handler: AnyObject) {
    guard let handler = handler as? Series else { return }
    series.withLock { series in
      if series[handler.id] === handler { series[handler.id] = nil }
    }
  }
}

/// A metric with certain labels.
final class Series: CounterHandler, FloatingPointCounterHandler, MeterHandler, RecorderHandler, TimerHandler {
  enum Kind: String, Sendable {
    case counter, gauge, histogram
  }

  struct ID: Hashable, Comparable, Sendable {
    let name: String
    /// As they are written, without braces.
    let labels: String

    init(_ label: String, _ dimensions: [(String, String)]) {
      name = PrometheusText.name(label)
      labels = dimensions.map { "\(PrometheusText.labelName($0))=\"\(PrometheusText.labelValue($1))\"" }
        .joined(separator: ",")
    }

    static func < (left: ID, right: ID) -> Bool { (left.name, left.labels) < (right.name, right.labels) }
  }

  private struct Content: Sendable {
    var value = 0.0
    /// The number of values in each bucket, not accumulated.
    var buckets: [Int] = []
    var count = 0
  }

  let id: ID
  let kind: Kind
  private let content: Locked<Content>

  init(_ id: ID, _ kind: Kind) {
    self.id = id
    self.kind = kind
    var content = Content()
    if kind == .histogram { content.buckets = [Int](repeating: 0, count: PrometheusMetrics.bounds.count) }
    self.content = Locked(content)
  }

  func increment(by amount: Int64) { increment(by: Double(amount)) }
  func increment(by amount: Double) { content.withLock { $0.value += amount } }
  func decrement(by amount: Double) { increment(by: -amount) }
  func reset() { content.withLock { $0.value = 0 } }
  func set(_ value: Int64) { set(Double(value)) }
  func set(_ value: Double) { content.withLock { $0.value = value } }
  func record(_ value: Int64) { record(Double(value)) }
  func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1_000_000_000) }

  func record(_ value: Double) {
    guard kind == .histogram else { return set(value) }
    let bucket = PrometheusMetrics.bounds.firstIndex { value <= $0 }
    content.withLock { content in
      content.value += value
      content.count += 1
      if let bucket { content.buckets[bucket] += 1 }
    }
  }

  fileprivate var lines: String {
    let content = content.withLock { $0 }
    guard kind == .histogram else { return line("", id.labels, PrometheusText.number(content.value)) }
    var lines = ""
    var sum = 0
    for (bound, count) in zip(PrometheusMetrics.bounds, content.buckets) {
      sum += count
      lines += line("_bucket", with("le=\"\(PrometheusText.number(bound))\""), "\(sum)")
    }
    lines += line("_bucket", with("le=\"+Inf\""), "\(content.count)")
    lines += line("_sum", id.labels, PrometheusText.number(content.value))
    return lines + line("_count", id.labels, "\(content.count)")
  }

  private func with(_ label: String) -> String { id.labels.isEmpty ? label : id.labels + "," + label }

  private func line(_ suffix: String, _ labels: String, _ value: String) -> String {
    id.name + suffix + (labels.isEmpty ? "" : "{\(labels)}") + " " + value + "\n"
  }
}

/// The grammar of Prometheus' text format.
enum PrometheusText {
  /// `[a-zA-Z_:][a-zA-Z0-9_:]*`; other characters become underscores.
  static func name(_ text: String) -> String { name(text, allowing: ":") }
  /// `[a-zA-Z_][a-zA-Z0-9_]*`
  static func labelName(_ text: String) -> String { name(text, allowing: "_") }

  private static func name(_ text: String, allowing other: Character) -> String {
    let plain = String(
      text.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == other) ? $0 : "_" })
    return plain.first.map { $0.isNumber } ?? true ? "_" + plain : plain
  }

  static func labelValue(_ text: String) -> String {
    help(text).replacing("\"", with: "\\\"")
  }

  static func help(_ text: String) -> String {
    text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
  }

  static func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
    return Int64(exactly: value).map { "\($0)" } ?? "\(value)"
  }
}
#endif
