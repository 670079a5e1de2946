#if canImport(Darwin)
public import Logging
import os

extension Logging.Logger {
  /// Creates a logger for ``SessionController`` that writes to the system's log, with the category `session`.
  ///
  /// - Parameter subsystem: the app's bundle identifier.
  public static func system(_ subsystem: String) -> Logging.Logger {
    Logging.Logger(label: subsystem) { OSLogHandler(log: os.Logger(subsystem: $0, category: "session")) }
  }
}

/// Writes lines as public: a session's log lines contain no secrets.
private struct OSLogHandler: LogHandler {
  let log: os.Logger
  var metadata: Logging.Logger.Metadata = [:]
  var logLevel = Logging.Logger.Level.info

  subscript(metadataKey key: String) -> Logging.Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let values = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }
    let line = ([event.message.description] + values).joined(separator: " ")
    log.log(level: event.level.type, "\(line, privacy: .public)")
  }
}

extension Logging.Logger.Level {
  fileprivate var type: OSLogType {
    switch self {
    case .trace, .debug: .debug
    case .info: .info
    case .notice: .default
    case .warning, .error: .error
    case .critical: .fault
    }
  }
}
#endif
