#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird

/// Whether the server can do its work: whether its store can be read and written. The answer is kept for a moment, so that no flood
/// of questions becomes one of writes.
actor Readiness {
  private static let life = Duration.seconds(2)

  private let registry: Registry
  private let clock: ServerClock
  /// A monotonic clock.
  private let uptime: @Sendable () -> Duration
  private var last: (at: Duration, isReady: Bool)?
  private var check: Task<Bool, Never>?

  init(registry: Registry, clock: ServerClock, uptime: @escaping @Sendable () -> Duration) {
    self.registry = registry
    self.clock = clock
    self.uptime = uptime
  }

  /// `GET /health`: the process runs and answers.
  static var alive: Response { response("ok", .ok) }

  /// `GET /ready`: 503 if the store cannot be read or written, so that a load balancer sends requests elsewhere.
  func response() async -> Response {
    await isReady() ? Readiness.response("ok", .ok) : Readiness.response("unavailable", .serviceUnavailable)
  }

  private func isReady() async -> Bool {
    if let last, uptime() - last.at < Readiness.life { return last.isReady }
    if let check { return await check.value }
    let check = Task { [registry, clock] in
      do throws(RegistryError) {
        _ = try await registry.lastEventID()
        try await registry.checkWritable(now: clock.now)
        return true
      } catch {
        return false
      }
    }
    self.check = check
    let isReady = await check.value
    last = (uptime(), isReady)
    self.check = nil
    return isReady
  }

  private static func response(_ status: String, _ code: HTTPResponse.Status) -> Response {
    var json = JSONText()
    json.add("status", status)
    return .json(json, status: code)
  }
}
#endif
