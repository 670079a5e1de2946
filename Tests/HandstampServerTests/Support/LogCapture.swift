#if Programs
import HandstampCore
import HandstampSupport
import Logging

/// Captures every line that a server logs, to be searched for secrets.
final class LogCapture: Sendable {
  private let store = Locked<[String]>([])

  var lines: [String] { store.withLock { $0 } }
  var text: String { lines.joined(separator: "\n") }

  var logger: Logger {
    var logger = Logger(label: "test") { _ in Handler(capture: self) }
    logger.logLevel = .trace
    return logger
  }

  private struct Handler: LogHandler {
    let capture: LogCapture
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let all = metadata.merging(event.metadata ?? [:]) { $1 }
      capture.store.withLock { $0.append("\(event.level) \(event.message) \(all)") }
    }
  }
}
#endif
