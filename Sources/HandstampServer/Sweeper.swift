#if Server
import HandstampCore
import HandstampRegistry
import Logging
import ServiceLifecycle

/// Writes down now and then that sessions are over which nobody used in time, so that their account's streams hear of it. Such
/// a session is refused without it, too. And forgets what was over for long, in batches, so that no write waits for many.
struct Sweeper: Service, CustomStringConvertible {
  let server: SessionServer
  private static let batch = 500
  /// Services are logged by this.
  var description: String { "Sweeper" }

  func run() async throws {
    await cancelWhenGracefulShutdown {
      repeat { await sweep() } while (try? await Task.sleep(for: server.configuration.sweepInterval)) != nil
    }
    // The next start compares its clock with this.
    try? await server.registry.note(server.clock.note)
  }

  func sweep() async {
    do throws(RegistryError) {
      try await server.checkClock()
      while true {
        let outcome = try await server.registry.expire(now: server.now(), limit: Sweeper.batch)
        for account in Set(outcome.ended.map(\.account)) { server.hub.announce(account) }
        if outcome.ended.count < Sweeper.batch { break }
      }
      while case let count = try await server.registry.prune(now: server.now(), limit: Sweeper.batch),
        count > 0
      {
        server.metrics.update { $0.pruned += count }
        guard !Task.isCancelled else { return }
      }
    } catch {
      server.configuration.logger.error("Sweeping sessions failed", metadata: ["handstamp.cause": "\(error)"])
    }
  }
}
#endif
