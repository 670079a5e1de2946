#if Server
import HandstampCore
import HandstampRegistry
import HTTPTypes
import Hummingbird
import Logging

/// The feed of ended sessions, for services that verify access tokens by themselves.
struct RevocationsController: Sendable {
  let authentication: ClientAuthentication
  let recorder: SessionEventRecorder
  /// Lifetime of this server's own access tokens.
  let life: Duration
  /// Time between two confirmations.
  let interval: Duration
  /// Maximum number of feeds.
  let limit: Int

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/v1/revocations", use: revocations)
  }

  /// `GET /v1/revocations`: streams the sessions that have ended, those first whose access tokens may be valid still, or those
  /// after `Last-Event-ID`. For clients that may introspect every token.
  @concurrent func revocations(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let client = try authentication.confidentialClient(request, context)
    guard client.introspects else { throw ProblemError.notOffered("This client may not follow ended sessions") }
    let (registry, clock) = (authentication.registry, authentication.clock)
    let place = try place()
    let stream = RevocationStream(
      registry: registry, clock: clock, life: life, heartbeat: interval, replacements: registry.replacements,
      start: try await RevocationCursor.start(
        after: request.headers[.lastEventID], in: registry, now: clock.now, life: life),
      place: place, channel: context.channel, metrics: recorder.metrics)
    return .events(from: stream, to: request, context, lost: "Revocation feed ended, store unavailable")
  }

  private func place() throws(ProblemError) -> EventHub.Place {
    if let place = recorder.hub.verifierPlace(within: limit) { return place }
    recorder.metrics.update { $0.refusedFeeds += 1 }
    throw .tooManyStreams
  }
}
#endif
