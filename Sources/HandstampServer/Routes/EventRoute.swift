#if Server
import HandstampCore
import HandstampRegistry
import HTTPTypes
import Hummingbird
import Logging

extension SessionServer {
  /// `GET /v1/events`: streams the account's events as they happen, after `Last-Event-ID` or from now on.
  ///
  /// The account comes only from the token. Handlers are not cancelled when the client disconnects, so the stream watches the
  /// connection itself.
  @concurrent func events(_ request: Request, _ context: ServerContext) async throws -> Response {
    let newest: EventID
    do throws(RegistryError) { newest = try await registry.lastEventID() } catch {
      throw problem(error, context)
    }
    // Check the session only now, so that its end after this check is an event after the cursor.
    let bearer = try await bearer(of: request, context)
    let stream = EventStream(
      bearer: bearer, cursor: try cursor(of: request, newest: newest),
      life: min(bearer.expiresAt.since(now()), configuration.accessTokenLife), heartbeat: configuration.heartbeat,
      hub: hub, metrics: metrics,
      abort: { context.channel.close(promise: nil) }, read: { try await events(after: $0, of: bearer.account) })
    return Response(
      status: .ok,
      // The connection cannot be reused: its inbound side was consumed while watching for the client to disconnect.
      headers: [
        .contentType: "text/event-stream", .cacheControl: "no-store", .connection: "close", .xAccelBuffering: "no",
      ],
      body: .init { writer in
        do {
          try await request.body.consumeWithCancellationOnInboundClose { _ in try await stream.run(&writer) }
        } catch is RegistryError {
          // The client reconnects with its last event ID.
          context.logger.error("Event stream ended, store unavailable")
        }
        try await writer.finish(nil)
      })
  }

  /// Returns the start of a stream. An ID beyond the newest event, as after the store was rolled back, counts as the newest.
  private func cursor(of request: Request, newest: EventID) throws(Problem) -> EventID {
    guard let last = request.headers[.lastEventID] else { return newest }
    guard let number = Int64(last), number >= 0 else { throw .invalidRequest("Last-Event-ID is not a valid event ID.") }
    return min(EventID(rawValue: number), newest)
  }

  private func events(after id: EventID, of account: AccountID) async throws -> [StoredEvent] {
    try await registry.events(after: id, of: account)
  }
}
#endif
