#if Server
import HandstampCore
import HandstampRegistry
import Logging
import ServiceLifecycle

/// Periodically marks expired sessions as ended, so that their account's event streams report it, and prunes old data in
/// batches, so that other writes do not wait long. Expired sessions are refused even before they are marked.
struct Sweeper: NamedService {
  private let started: SessionServer
  private var server: SessionServer { started.current }
  private static let batch = 500
  /// How often expired sessions are looked for.
  static let interval = Duration.seconds(60)

  init(server: SessionServer) { started = server }

  func run() async throws {
    await cancelWhenGracefulShutdown {
      repeat { await sweep() } while await pause()
    }
    // The next start compares its clock with this.
    _ = try? await server.checkClock()
    try? await server.registry.noteKeyUse(now: server.now())
  }

  /// Waits until the next sweep. Reads the store's clock note every second: another server may have confirmed the clock, and
  /// the read detects a database whose contents were replaced by an older copy. Returns `false` if the task was cancelled.
  private func pause() async -> Bool {
    let end = ContinuousClock.now + Sweeper.interval
    while ContinuousClock.now < end {
      let left = min(end - ContinuousClock.now, .seconds(1))
      guard (try? await Task.sleep(for: left)) != nil else { return false }
      // Failures are reported to requests, and logged by the next sweep.
      _ = try? await server.followClock()
    }
    return true
  }

  func sweep() async {
    do throws(RegistryError) {
      // Other servers on the store learn of it within a second; do not end any session before then.
      if try await server.checkClock() { return }
      try await server.registry.noteKeyUse(now: server.now())
      try await server.noteTokenLife()
      while try await server.registry.resealTOTP(now: server.now(), limit: Sweeper.batch) == Sweeper.batch {}
      while true {
        let ended = try await server.registry.expire(now: server.now(), limit: Sweeper.batch)
        server.recorder.recordExpiry(ended)
        if ended.count < Sweeper.batch { break }
      }
      while case let count = try await server.registry.prune(now: server.now(), limit: Sweeper.batch),
        count > 0
      {
        server.metrics.update { $0.pruned += count }
        guard !Task.isCancelled else { return }
      }
    } catch {
      // The server stops, or has not started: its listener's error is the one to read.
      guard !Task.isCancelled else { return }
      server.configuration.logger.error("Sweeping sessions failed", metadata: ["handstamp.cause": "\(error)"])
    }
  }
}
#endif
