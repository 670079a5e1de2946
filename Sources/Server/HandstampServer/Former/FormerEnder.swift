#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Logging
import ServiceLifecycle

/// Ends at the former system what has been taken over from it, see ``JobWorker``.
struct FormerEnder: NamedService {
  private static let interval = Duration.seconds(5)
  private static let pause = JobPause(first: .seconds(2), longest: .seconds(3600))
  /// How long it is tried, for a system that is down.
  private static let patience = Duration.seconds(14 * 86_400)

  let server: SessionServer
  let former: FormerServer

  func run() async throws {
    await JobWorker<FormerEnd>(
      server: server, bell: server.lasting.formerEnds, interval: FormerEnder.interval, width: 8,
      lease: FormerServer.timeout * 4
    ) { job in try await end(job) }.run()
  }

  private func end(_ job: ClaimedJob<FormerEnd>) async throws(RegistryError) {
    var claimed = job
    let (sealed, access): (Secret?, Secret?)
    do throws(RegistryError) {
      sealed = try opened(claimed.job.refresh, claimed)
      access = if let text = claimed.job.access { try opened(text, claimed) } else { nil }
    } catch { return try await retry(claimed, after: "\(error)") }
    guard let refresh = sealed else { return try await retry(claimed, after: "the token cannot be decrypted") }
    var grant: FormerGrant?
    do throws(FormerError) {
      do throws(FormerError) { try await former.end(refresh: refresh, access: access) } catch {
        guard error == .ended else { throw error }
        // The access token has expired: another one ends the session.
        let newer = try await former.refresh(refresh)
        grant = newer
        try await former.end(refresh: newer.refresh, access: newer.access)
      }
    } catch {
      if case .unavailable(let cause, _) = error {
        if let grant {
          claimed.job.refresh = try seal(grant.refresh, claimed)
          claimed.job.access = try seal(grant.access, claimed)
        }
        return try await retry(claimed, after: cause)
      }
      // It has ended there by itself.
    }
    server.metrics.update { $0.formerEnds += 1 }
    try await server.registry.finish(claimed)
  }

  private func seal(_ token: Secret, _ job: ClaimedJob<FormerEnd>) throws(RegistryError) -> String {
    try server.registry.mint.seal(token, for: .formerToken, boundTo: job.context)
  }

  private func opened(_ text: String, _ job: ClaimedJob<FormerEnd>) throws(RegistryError) -> Secret? {
    try server.registry.mint.secret(text, for: .formerToken, boundTo: job.context)
  }

  private func retry(_ claimed: ClaimedJob<FormerEnd>, after cause: String) async throws(RegistryError) {
    let failures = claimed.job.tries.failures + 1
    let next = server.clock.now.advanced(by: FormerEnder.pause.after(attempts: failures))
    let isOver = next.since(claimed.createdAt) >= FormerEnder.patience
    let metadata: Logger.Metadata = ["handstamp.attempts": "\(failures)", "handstamp.cause": "\(cause)"]
    if isOver {
      server.metrics.update { $0.formerEndsAbandoned += 1 }
      server.configuration.logger.error("Former session cannot be ended there; given up", metadata: metadata)
    } else {
      server.configuration.logger.warning("Former session not ended there; will retry", metadata: metadata)
    }
    try await server.registry.fail(claimed, because: cause, until: isOver ? nil : next)
  }
}
#endif
