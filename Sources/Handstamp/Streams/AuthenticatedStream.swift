public import Foundation

/// Server-sent events for a signed-in account (WHATWG HTML section 9.2), for as long as the session lasts.
///
///     for try await event in api.stream("/v1/feed") { show(event) }
///
/// It goes on across everything that ends a connection: a token that is replaced (the next connection is open before the old
/// one is dropped), a server that restarts, a network that goes away. It resumes by `Last-Event-ID`, so that a server which
/// keeps to it loses nothing; what comes twice is known by its id and handed out once. A connection that is silent for too
/// long is given up, see ``StreamOptions``. Events without an id of their own cannot be known again: some may be missing or
/// come twice around a new connection.
///
/// Every `for await` is a reader of its own, with connections of its own. Events that a slow reader has yet to take are kept
/// in memory. Cancelling the reading task ends it.
///
/// It throws ``SessionError``: ``SessionError/signedOut(_:)`` with the reason when the session ends, and
/// ``SessionError/refused(code:detail:)`` with `status_403` and the like when the server will never have it. It ends without
/// an error when the server says that nothing more will come (status 204).
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
    let (events, driver) = StreamDriver.start(connector, controller, options: options, after: lastEventID)
    return Iterator(base: events.makeAsyncIterator(), driver: driver)
  }

  public struct Iterator: AsyncIteratorProtocol {
    var base: AsyncThrowingStream<ServerSentEvent, any Error>.Iterator
    let driver: StreamDriver<EventConnector>

    public mutating func next() async throws(SessionError) -> ServerSentEvent? {
      do { return try await base.nextHere() } catch { throw SessionError(stream: error) }
    }
  }
}

extension SessionError {
  init(stream error: any Error) { self = error as? SessionError ?? .invalidAnswer("\(type(of: error))") }
}

extension APIClient {
  /// The live stream of server-sent events at `path`, from `lastEventID` on or from now on.
  public func stream(
    _ path: String, query: [URLQueryItem] = [], options: StreamOptions = StreamOptions(), lastEventID: String? = nil
  ) throws(APIError) -> AuthenticatedStream {
    AuthenticatedStream(
      TransportRequest(method: "GET", url: try address(of: path, query: query)), controller: controller,
      transport: transport, options: options, lastEventID: lastEventID)
  }
}
