#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Logging
import ServiceLifecycle

/// Periodically marks expired sessions as ended, so that their account's event streams report it, and prunes old data in
/// batches, so that other writes do not wait long. Expired sessions are refused even before they are marked.
struct Sweeper: NamedService {
  private let started: SessionServer
  private var server: SessionServer { started.current }
  private static let batch = 500
  /// The missing keys that were looked into.
  private let missing = Locked<Set<KeyID>>([])
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

  /// Each part by itself: whatever one of them meets must not keep the others from being done.
  func sweep() async {
    // Other servers on the store learn of a settled doubt within a second; do not end any session before then.
    guard await server.attempt("clock", { try await server.checkClock() }) == false else { return }
    await server.attempt("key_use") { try await server.registry.noteKeyUse(now: server.now()) }
    await server.attempt("token_life") { try await server.noteTokenLife() }
    await server.attempt("seals") { try await reseal() }
    await server.attempt("missing_keys") { try await lookForMissingKeys() }
    await server.attempt("expiry") { try await expire() }
    await server.attempt("retention") { try await prune() }
  }

  private func reseal() async throws {
    while true {
      let (count, failures) = try await server.registry.resealDue(now: server.now(), limit: Sweeper.batch)
      if let failure = failures.first { server.report(failure, of: "seals", count: failures.count) }
      guard count == Sweeper.batch, failures.isEmpty else { return }
    }
  }

  /// Looks once for what depends on keys that this server does not have: that reads much.
  private func lookForMissingKeys() async throws {
    let found = try await server.registry.missingKeys()
    guard found != missing.withLock({ $0 }) else { return }
    let lost = found.isEmpty ? [:] : try await server.registry.lostKeys(now: server.now())
    missing.withLock { $0 = found }
    server.metrics.update { $0.missingKeys = lost.count }
    for (id, dependents) in lost {
      server.configuration.logger.error(
        "Master key missing", metadata: ["handstamp.kid": "\(id)", "handstamp.cause": "\(dependents.words)"])
    }
  }

  private func expire() async throws {
    while true {
      let ended = try await server.registry.expire(now: server.now(), limit: Sweeper.batch)
      server.recorder.recordExpiry(ended)
      if ended.count < Sweeper.batch { return }
    }
  }

  private func prune() async throws {
    while case let count = try await server.registry.prune(now: server.now(), limit: Sweeper.batch), count > 0 {
      server.metrics.update { $0.pruned += count }
      guard !Task.isCancelled else { return }
    }
  }
}
#endif
