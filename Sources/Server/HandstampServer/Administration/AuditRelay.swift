#if Server
import HandstampCore
package import HandstampRegistry
import Logging

/// Writes each entry of the audit log to the server's log as well, which the server cannot change afterwards, and which the machine
/// forwards (OWASP ASVS 16.4.2 and 16.4.3): also those of commands and of other servers on the store, each entry once.
struct AuditRelay: NamedService {
  let server: SessionServer
  /// At most so many at once: journald drops lines beyond 10,000 in 30 s, and the first start has all that was ever logged.
  private static let batch = 256

  func run() async throws { await everySecond { _ in await relay() } }

  func relay() async {
    // Requests that need the store report its failure.
    let entries = try? await server.registry.takeAuditedActions(limit: AuditRelay.batch, now: server.now())
    var logger = server.configuration.logger
    // Each one, whatever else is left out.
    logger.logLevel = .info
    for entry in entries ?? [] {
      logger.log(level: entry.isWarning ? .warning : .info, "Audit", metadata: entry.metadata)
    }
  }
}

extension StoredAuditedAction {
  fileprivate var metadata: Logger.Metadata {
    let facts: [(String, String?)] = [
      ("id", String(id)), ("audited_at", audited.at.description), ("action", audited.action), ("actor", audited.actor),
      ("account", audited.account?.rawValue), ("session", audited.session?.rawValue), ("address", audited.address),
      ("details", audited.details == "{}" ? nil : audited.details),
    ]
    return Logger.Metadata(
      uniqueKeysWithValues: facts.compactMap { name, value in value.map { ("handstamp.\(name)", "\($0)") } })
  }
}

extension StoredAuditedAction {
  /// The entry as a line of ArcSight's Common Event Format (CEF 0), without a newline. The address is `src`, or `c6a2` for IPv6;
  /// the account is `duid`, and who acted is `suser`.
  package var cefLine: [UInt8] {
    let header = ["CEF:0", "Handstamp", "server", "1", audited.action, audited.action, isWarning ? "7" : "3"]
    let address: [(String, String?)] =
      switch audited.address {
      case let text? where text.contains("/"): [("cs3Label", "network"), ("cs3", text)]
      case let text? where text.contains(":"): [("c6a2Label", "source address"), ("c6a2", text)]
      case let text: [("src", text)]
      }
    let session = audited.session.map { [("cs1Label", "session"), ("cs1", $0.rawValue)] } ?? []
    let fields: [(String, String?)] =
      [
        ("rt", String(audited.at.milliseconds)), ("externalId", String(id)), ("suser", audited.actor),
        ("duid", audited.account?.rawValue),
      ] + address + session + (audited.details == "{}" ? [] : [("cs2Label", "details"), ("cs2", audited.details)])
    let text = fields.compactMap { key, value in value.map { "\(key)=\($0.escaped(for: "="))" } }.joined(separator: " ")
    return Array((header.map { $0.escaped(for: "|") } + [text]).joined(separator: "|").utf8)
  }

  /// Whether an operator would want to look at it.
  var isWarning: Bool {
    switch AuditedAction.Kind(rawValue: audited.action) {
    case .theftDetected, .guessesStopped, .passkeyRefused, .takenBack, .restored: true
    default: false
    }
  }
}

extension String {
  /// By bytes: a joiner after a separator would make another character of it.
  fileprivate func escaped(for separator: String) -> String {
    var bytes: [UInt8] = []
    for byte in utf8 {
      switch byte {
      case UInt8(ascii: "\\"), separator.utf8.first: bytes += [UInt8(ascii: "\\"), byte]
      case 13: bytes += Array("\\r".utf8)
      case 10: bytes += Array("\\n".utf8)
      default: bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
#endif
