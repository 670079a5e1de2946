public import Foundation

/// Server-sent events for a signed-in account (WHATWG HTML section 9.2), for as long as the session lasts.
///
///     for try await event in api.stream("/v1/feed") { show(event) }
///
/// The stream survives everything that ends a connection: a replaced token (the next connection opens before the old one
/// closes), a server restart, a lost network. It resumes with `Last-Event-ID`, so a server that supports it loses nothing;
/// duplicates are recognized by their ID and dropped. A connection that is silent for too long is closed, see
/// ``StreamOptions``. Events without an ID of their own cannot be recognized: some may be missing or duplicated around a new
/// connection.
///
/// Every `for await` is a separate reader with its own connections. Events that a slow reader has not consumed are kept in
/// memory. Cancelling the reading task ends the stream.
///
/// It throws a ``SessionError``: ``SessionError/signedOut(_:)`` with the reason when the session ends, and
/// ``SessionError/refused(code:detail:)`` with `status_403` and the like if the server refuses permanently. It ends without an
/// error if the server reports that no more events follow (status 204).
public struct AuthenticatedStream: AsyncSequence, Sendable {
  public typealias Element = ServerSentEvent
  public typealias Failure = SessionError

  let connector: EventConnector
  let controller: SessionController
  let options: StreamOptions
  let lastEventID: String?

  init(
    _ request: TransportRequest, controller: SessionController, transport: any Transport, options: StreamOptions,
    lastEventID: String?
  ) {
    connector = EventConnector(request: request, transport: transport, clock: controller.clock)
    self.controller = controller
    self.options = options
    self.lastEventID = lastEventID
  }

  public func makeAsyncIterator() -> Iterator {
    Iterator(base: StreamDriver.start(connector, controller, options: options, after: lastEventID).makeAsyncIterator())
  }

  public struct Iterator: AsyncIteratorProtocol {
    var base: AsyncThrowingStream<ServerSentEvent, any Error>.Iterator

    public mutating func next() async throws(SessionError) -> ServerSentEvent? { try await base.nextHere() }
  }
}

extension APIClient {
  /// Returns the live stream of server-sent events at `path`, starting after `lastEventID`, or now if that is `nil`.
  ///
  /// - Throws: ``APIError/invalidRequest(_:)`` if `path` is not valid.
  public func stream(
    _ path: APIPath, query: [URLQueryItem] = [], options: StreamOptions = StreamOptions(), lastEventID: String? = nil
  ) throws(APIError) -> AuthenticatedStream {
    AuthenticatedStream(
      TransportRequest(method: "GET", url: try address(of: path, query: query)), controller: controller,
      transport: transport, options: options, lastEventID: lastEventID)
  }
}
