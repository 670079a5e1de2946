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
      repeat { await sweep() } while await pause()
    }
    // The next start compares its clock with this.
    _ = try? await server.checkClock()
  }

  /// The time between two sweeps. Each second the store's note of the clock is looked at: another server may have found the clock
  /// right, and a database in which an older content was copied is noticed by it. Returns whether to go on.
  private func pause() async -> Bool {
    let end = ContinuousClock.now + server.configuration.sweepInterval
    while ContinuousClock.now < end {
      let left = min(end - ContinuousClock.now, .seconds(1))
      guard (try? await Task.sleep(for: left)) != nil else { return false }
      // Trouble is told to the requests, and logged by the next sweep.
      _ = try? await server.followClock()
    }
    return true
  }

  func sweep() async {
    do throws(RegistryError) {
      // Other servers on the store hear of it within a second: nothing is ended before they have.
      if try await server.checkClock() { return }
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
