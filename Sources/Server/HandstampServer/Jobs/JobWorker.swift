#if Server
import HandstampCore
import HandstampRegistry
import Logging
import ServiceLifecycle

/// Does the jobs of one kind that wait in the store, several at a time. A job that it has claimed is another server's only after a
/// while; so one is done twice only if a server dies, or cannot write, between doing it and noting that. One that fails stops no other.
struct JobWorker<Job: StoredJob>: Sendable {
  let server: SessionServer
  let bell: JobBell
  /// How often the store is looked at without a signal: for jobs of other servers, and of those that died.
  let interval: Duration
  /// How many jobs are done at once.
  let width: Int
  /// How long a job is claimed.
  let lease: Duration
  /// Called before each look.
  var tidy: @Sendable () async -> Void = {}
  let perform: @Sendable (ClaimedJob<Job>) async throws -> Void

  /// The name of the work in the log.
  private var work: String { Job.kind.rawValue }

  /// Works until the server shuts down, and the jobs that were begun are done.
  func run() async {
    var running = 0
    await bell.watch { signal, group in
      if signal == .finished { running -= 1 }
      await tidy()
      var pause = interval
      var goesOn = true
      while goesOn, running < width {
        let server = self.server.current
        let now = server.clock.now
        let soon = await server.attempt(work) {
          try await server.registry.dueJobs(Job.self, at: now.advanced(by: interval), limit: width - running)
        }
        let due = (soon ?? []).compactMap { item in item.dueAt.map { (item, at: $0) } }
        if let next = due.first?.at, next > now { pause = next.since(now) }
        let ready = due.filter { $0.at <= now }
        goesOn = !ready.isEmpty
        for (item, _) in ready {
          let claimed = await server.attempt(work) {
            try await server.registry.claim(item, as: Job.self, until: now.advanced(by: lease), now: now)
          }
          // The same ones would come again.
          if claimed == nil { goesOn = false }
          // Another server may have been faster.
          guard let job = claimed ?? nil else { continue }
          running += 1
          group.addTask {
            await server.attempt(work) { try await perform(job) }
            bell.signal(.finished)
          }
        }
      }
      return (pause, running > 0)
    }
  }
}

/// The time between two attempts at a job.
struct JobPause: Sendable {
  /// The pause after the first failure, doubled after each further one.
  let first: Duration
  let longest: Duration

  /// Exponential, and at random between half of that and the whole, so that many jobs are not tried at once.
  func after(attempts: Int) -> Duration {
    min(first * (1 << min(max(attempts - 1, 0), 20)), longest) * Double.random(in: 0.5...1)
  }
}

/// A service whose name in logs is that of its type. Without a name, the logs of the life cycle would have its properties.
protocol NamedService: Service, CustomStringConvertible {}

extension NamedService {
  var description: String { "\(Self.self)" }
}

extension SessionServer {
  /// Does one piece of the work that no request waits for. A failure is logged and counted, and stops no other piece.
  ///
  /// - Parameter work: the name of the work in the log.
  /// - Returns: `nil` if it has failed.
  @discardableResult
  func attempt<Value>(_ work: String, _ body: () async throws -> Value) async -> Value? {
    do { return try await body() } catch {
      // The server stops, or has not started: its listener's error is the one to read.
      if !Task.isCancelled { report(error, of: work) }
      return nil
    }
  }

  /// - Parameter count: how many pieces have failed, of which `error` is one's.
  func report(_ error: any Error, of work: String, count: Int = 1) {
    let known = error as? RegistryError
    metrics.update {
      $0.backgroundFailures += count
      if case .unavailable? = known { $0.storeFailures += count }
    }
    configuration.logger.error(
      "Background work failed",
      metadata: [
        "handstamp.work": "\(work)", "handstamp.failures": "\(count)",
        // The text of another error may quote a person's data.
        "handstamp.cause": "\(known.map { "\($0)" } ?? "\(type(of: error))")",
      ])
  }
}

/// Does work once a second until the server stops, and then once more.
func everySecond(_ work: @escaping @Sendable (_ isEnd: Bool) async -> Void) async {
  await cancelWhenGracefulShutdown {
    repeat { await work(false) } while (try? await Task.sleep(for: .seconds(1))) != nil
  }
  await work(true)
}
#endif
