#if Server
import HandstampCore
import HandstampHTTP
import HandstampRegistry
import HandstampSupport
import Hummingbird

/// The parts of a server that a reload of its settings keeps: its connections to the outside, its counts, its queues.
final class LastingState: Sendable {
  let clock: ServerClock
  let metrics: ServerMetrics
  let passwords: PasswordPool
  let outbox: Outbox
  let readiness: Readiness
  /// Sends requests to clients.
  let transport: (any Transport)?
  /// The app's accounts; `nil` if they are in the registry.
  let directory: (any AccountDirectory)?
  let middlewares: [any MiddlewareProtocol<Request, Response, ServerContext>]
  let hub = EventHub()
  let deviceCodes = DeviceCodeRateLimiter()
  let logoutQueue = LogoutQueue()
  let webhookQueue = WebhookQueue()
  let formerEnds = JobBell()
  let appleGrants = JobBell()
  let refusedSignIns = Tallies<RefusedSignIn>(interval: .seconds(60))
  let refusedRequests = Tallies<RefusedRequest>(interval: .seconds(10))
  /// The certificate of the running listener, which settings do not change.
  let identity = Locked<TLSIdentity?>(nil)
  /// The addresses that it listens on.
  let addresses = Locked<[ListeningAddress]>([])

  init(
    _ configuration: ServerConfiguration, _ registry: Registry, hasMailer: Bool, _ transport: (any Transport)?,
    _ directory: (any AccountDirectory)?,
    _ middlewares: [any MiddlewareProtocol<Request, Response, ServerContext>]
  ) async throws(RegistryError) {
    (self.transport, self.directory, self.middlewares) = (transport, directory, middlewares)
    clock = ServerClock(after: try await registry.clockNote(), configuration)
    metrics = ServerMetrics(factory: configuration.metrics)
    passwords = PasswordPool(
      parameters: configuration.passwords.hashing, width: configuration.passwords.threads,
      capacity: configuration.passwords.queue, metrics: metrics)
    outbox = Outbox(registry: registry, clock: clock, jitter: configuration.mail.jitter, hasMailer: hasMailer)
    readiness = Readiness(
      registry: registry, clock: clock, uptime: configuration.uptime, logger: configuration.logger)
  }
}
#endif
