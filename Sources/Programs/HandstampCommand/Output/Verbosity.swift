#if Command
import HandstampCore
import HandstampSupport
import Logging

/// `--verbose`: one line on stderr for each decision of a session. For all commands.
enum Verbosity {
  private static let isOn = Locked(false)

  static func turnOn() { isOn.withLock { $0 = true } }

  /// The logger of sessions; `nil` without `--verbose`.
  static var logger: Logger? {
    guard isOn.withLock({ $0 }) else { return nil }
    var logger = Logger(label: "handstamp") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = .debug
    return logger
  }
}
#endif
