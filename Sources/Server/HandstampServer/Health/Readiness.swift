#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird
import Logging

/// Whether the server can do its work: whether its store can be read and written, and no request has found it damaged. The answer is kept for a moment, so that no flood
/// of questions becomes one of writes.
actor Readiness {
  private static let life = Duration.seconds(2)

  private let registry: Registry
  private let clock: ServerClock
  /// A monotonic clock.
  private let uptime: @Sendable () -> Duration
  private let logger: Logger
  private var last: (at: Duration, isReady: Bool)?
  private var check: Task<RegistryError?, Never>?
  private var isStopping = false

  init(registry: Registry, clock: ServerClock, uptime: @escaping @Sendable () -> Duration, logger: Logger) {
    self.registry = registry
    self.clock = clock
    self.uptime = uptime
    self.logger = logger
  }

  nonisolated func addRoutes<Context: RequestContext>(to routes: some RouterMethods<Context>) {
    routes.get(.prompt(.health)) { _, _ in Readiness.alive }
    routes.get("/ready") { [self] _, _ in await response() }
  }

  /// `GET /health`: the process runs and answers. Asks nothing of the store: a supervisor that restarts a server because its disk is full
  /// makes it worse.
  static var alive: Response { response("ok", .ok) }

  /// `GET /ready`: 503 if the store cannot be read or written, so that a load balancer sends requests elsewhere.
  func response() async -> Response {
    await isReady() ? Readiness.response("ok", .ok) : Readiness.response("unavailable", .serviceUnavailable)
  }

  /// From now on, the server is not ready.
  func stop() { isStopping = true }

  private func isReady() async -> Bool {
    guard !isStopping else { return false }
    if let last, uptime() - last.at < Readiness.life { return last.isReady }
    if let check { return await check.value == nil }
    let check = Task { [registry, clock] () -> RegistryError? in
      do throws(RegistryError) {
        try await registry.checkUsable(now: clock.now)
        return nil
      } catch {
        return error
      }
    }
    self.check = check
    let fault = await check.value
    let wasReady = last?.isReady ?? true
    last = (uptime(), fault == nil)
    self.check = nil
    if let fault, wasReady { logger.error("Not ready", metadata: ["handstamp.cause": "\(fault)"]) }
    if fault == nil, !wasReady { logger.notice("Ready again") }
    return fault == nil
  }

  private static func response(_ status: String, _ code: HTTPResponse.Status) -> Response {
    .json(JSONText([("status", status)]), status: code)
  }
}
#endif
