#if Server
import HandstampCore
import HandstampRegistry
import HTTPTypes
import Hummingbird
import Logging

/// The account's event stream.
struct EventsController: Sendable {
  let authenticator: Authenticator
  /// Time without an event after which a stream sends a heartbeat.
  let heartbeat: Duration
  /// Maximum length of a stream.
  let longest: Duration
  let limits: EventStreamLimits

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    // Not behind the session middleware: the session is checked at the right moment.
    routes.get("/v1/events", use: events)
  }

  /// `GET /v1/events`: streams the account's events as they happen, after `Last-Event-ID` or from now on.
  ///
  /// The account comes only from the token. Handlers are not cancelled when the client disconnects, so the stream watches the
  /// connection itself.
  @concurrent func events(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let (registry, recorder) = (authenticator.registry, authenticator.recorder)
    let newest = try await registry.lastEventID()
    // Check the session only now, so that its end after this check is an event after the cursor.
    let session = try await authenticator.session(of: request, logger: context.logger)
    let stream = EventStream(
      session: session, cursor: try cursor(of: request, newest: newest),
      longest: min(session.tokenExpiresAt.since(authenticator.clock.now), longest), heartbeat: heartbeat,
      registry: registry,
      place: try recorder.place(for: session, within: limits), channel: context.channel, metrics: recorder.metrics)
    return .events(from: stream, to: request, context, lost: "Event stream ended, store unavailable")
  }

  /// Returns the start of a stream. An ID beyond the newest event, as after the store was rolled back, counts as the newest.
  private func cursor(of request: Request, newest: EventID) throws(ProblemError) -> EventID {
    guard let last = request.headers[.lastEventID] else { return newest }
    guard let number = Int64(last), number >= 0 else { throw .invalidRequest("Last-Event-ID is not a valid event ID.") }
    return min(EventID(rawValue: number), newest)
  }
}
#endif
