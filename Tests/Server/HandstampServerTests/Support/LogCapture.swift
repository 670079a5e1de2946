#if Programs
import HandstampCore
import HandstampSupport
import Logging

/// Captures every line that a server logs, to be searched for secrets.
final class LogCapture: Sendable {
  struct Entry: Sendable {
    var level: Logger.Level
    var message: String
    var metadata: [String: String]
  }

  private let store = Locked<[Entry]>([])

  var entries: [Entry] { store.withLock { $0 } }
  var lines: [String] { entries.map { "\($0.level) \($0.message) \($0.metadata)" } }
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
      let entry = Entry(level: event.level, message: "\(event.message)", metadata: all.mapValues { "\($0)" })
      capture.store.withLock { $0.append(entry) }
    }
  }
}
#endif
