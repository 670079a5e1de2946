#if Server
import HandstampRegistry
import Logging
import ServiceLifecycle

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
