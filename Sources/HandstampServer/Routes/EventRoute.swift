#if Server
import HandstampCore
import HandstampRegistry
import HTTPTypes
import Hummingbird
import Logging

extension SessionServer {
  /// `GET /v1/events`: the account's events as they happen, from `Last-Event-ID` on or from now on.
  ///
  /// Whose events it carries comes from the token alone. A handler is not cancelled when its client goes away; the stream
  /// watches the connection itself.
  @concurrent func events(_ request: Request, _ context: ServerContext) async throws -> Response {
    let newest: EventID
    do throws(RegistryStoreError) { newest = try await registry.store.lastEventID() } catch {
      throw storeProblem(error, context)
    }
    // The registry is asked only now: an end of the session after that is an event after the cursor.
    let bearer = try await bearer(of: request, context)
    let stream = EventStream(
      bearer: bearer, cursor: try cursor(of: request, newest: newest),
      life: min(bearer.expiresAt.since(now()), configuration.accessTokenLife), heartbeat: configuration.heartbeat,
      hub: hub, metrics: metrics,
      abort: { context.channel.close(promise: nil) }, read: { try await events(after: $0, of: bearer.account) })
    return Response(
      status: .ok,
      // The connection is good for nothing afterwards: its other direction was watched for the end.
      headers: [
        .contentType: "text/event-stream", .cacheControl: "no-store", .connection: "close", .xAccelBuffering: "no",
      ],
      body: .init { writer in
        do {
          try await request.body.consumeWithCancellationOnInboundClose { _ in try await stream.run(&writer) }
        } catch is RegistryStoreError {
          // The reader comes back with its last id.
          context.logger.error("Event stream ended, store unavailable")
        }
        try await writer.finish(nil)
      })
  }

  /// Where a stream begins. An id from the future, as after the store went back in time, counts as the newest.
  private func cursor(of request: Request, newest: EventID) throws(Problem) -> EventID {
    guard let last = request.headers[.lastEventID] else { return newest }
    guard let number = Int64(last), number >= 0 else { throw .invalidRequest("Last-Event-ID is none of ours.") }
    return min(EventID(rawValue: number), newest)
  }

  private func events(after id: EventID, of account: AccountID) async throws -> [StoredEvent] {
    try await registry.store.events(after: id, account: account, limit: 256)
  }
}

extension HTTPField.Name {
  // Both literals are names of fields.
  fileprivate static let lastEventID = HTTPField.Name("Last-Event-ID")!
  fileprivate static let xAccelBuffering = HTTPField.Name("X-Accel-Buffering")!
}
#endif
