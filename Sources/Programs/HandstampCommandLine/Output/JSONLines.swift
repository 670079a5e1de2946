#if Command
import Foundation
import HandstampSupport
package import Logging

/// The server's log, with a level that can change while it runs.
package final class ServerLog: Sendable {
  private let current: Locked<Logger.Level>

  package init(level: Logger.Level) { current = Locked(level) }

  package var level: Logger.Level {
    get { current.withLock { $0 } }
    set { current.withLock { $0 = newValue } }
  }

  package var logger: Logger { Logger(label: "handstamp.server") { [self] _ in JSONLines(log: self) } }
}

/// A log handler that writes JSON to stderr, one object per line.
private struct JSONLines: LogHandler {
  let log: ServerLog
  var metadata: Logger.Metadata = [:]
  var metadataProvider: Logger.MetadataProvider?
  /// The level of this copy of the logger alone.
  var ownLevel: Logger.Level?

  var logLevel: Logger.Level {
    get { ownLevel ?? log.level }
    set { ownLevel = newValue }
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    var fields = metadata.merging(metadataProvider?.get() ?? [:]) { $1 }.merging(event.metadata ?? [:]) { $1 }
      .mapValues { "\($0)" }
    fields["at"] = Date.now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    fields["level"] = event.level.rawValue
    fields["message"] = "\(event.message)"
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let line = try? encoder.encode(fields) else { return }
    Terminal.say(String(decoding: line, as: UTF8.self))
  }
}
#endif
