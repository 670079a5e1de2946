#if Command
import HandstampCore
import HandstampSupport
import Logging

/// `--verbose`: one line on stderr for each decision of a session. For all commands.
enum Verbosity {
  private static let isOn = Locked(false)

  /// Returns the arguments without `--verbose`. What follows `--` belongs to another program.
  static func take(from arguments: [String]) -> [String] {
    let own = arguments.prefix { $0 != "--" }
    guard own.contains("--verbose") else { return arguments }
    isOn.withLock { $0 = true }
    return own.filter { $0 != "--verbose" } + arguments.dropFirst(own.count)
  }

  /// The logger of sessions; `nil` without `--verbose`.
  static var logger: Logger? {
    guard isOn.withLock({ $0 }) else { return nil }
    var logger = Logger(label: "handstamp") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = .debug
    return logger
  }
}
#endif
