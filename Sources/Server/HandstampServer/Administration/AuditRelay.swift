#if Server
import HandstampCore
import HandstampRegistry
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
#endif
