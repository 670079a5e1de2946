import HandstampCore

/// Messages for a signed-in account over a ``MessageConnection``, such as a WebSocket, for as long as the session lasts.
///
/// It keeps its connection by the same rules as ``AuthenticatedStream``. Where a message's id is and how a server is asked to
/// resume after one is the protocol's matter, see ``Form``; without ids nothing is resumed, and around a new connection some
/// messages may be missing or come twice.
///
/// It pings at every heartbeat of ``StreamOptions``, so that a server which sends nothing by itself is not taken for dead.
public struct MessageStream: AsyncSequence, Sendable {
  public typealias Element = WireMessage
  public typealias Failure = SessionError

  /// What a protocol over messages needs to be resumed.
  public struct Form: Sendable {
    /// The id that a message names itself.
    public var id: @Sendable (WireMessage) -> String?
    /// Says in the request of a new connection which id to resume after.
    public var resume: @Sendable (inout TransportRequest, _ after: String) -> Void

    /// By default no message has an id, and the id to resume after goes out as `Last-Event-ID`.
    public init(
      id: @escaping @Sendable (WireMessage) -> String? = { _ in nil },
      resume: @escaping @Sendable (inout TransportRequest, _ after: String) -> Void = { request, id in
        request.headers.append(HeaderField("Last-Event-ID", id))
      }
    ) {
      self.id = id
      self.resume = resume
    }
  }

  let connector: MessageStreamConnector
  let controller: SessionController
  let options: StreamOptions

  /// - Parameter url: `ws:` or `wss:`, on a server that may have the session's token; it goes to no other.
  public init(
    _ url: String, controller: SessionController, connector: any MessageConnector, form: Form = Form(),
    options: StreamOptions = StreamOptions()
  ) {
    self.connector = MessageStreamConnector(
      url: url, connector: connector, form: form, clock: controller.clock, heartbeat: options.heartbeat)
    self.controller = controller
    self.options = options
  }

  public func makeAsyncIterator() -> Iterator {
    let (messages, driver) = StreamDriver.start(connector, controller, options: options, after: nil)
    return Iterator(base: messages.makeAsyncIterator(), driver: driver)
  }

  public struct Iterator: AsyncIteratorProtocol {
    var base: AsyncThrowingStream<WireMessage, any Error>.Iterator
    let driver: StreamDriver<MessageStreamConnector>

    public mutating func next() async throws(SessionError) -> WireMessage? {
      do { return try await base.nextHere() } catch { throw SessionError(stream: error) }
    }
  }

  /// Sends over the connection that was opened last by a reader of this stream.
  ///
  /// - Throws: ``TransportError/unreachable(_:)`` while there is none. Whether a message that was sent has arrived is for
  ///   the protocol to say.
  public func send(_ message: WireMessage) async throws(TransportError) {
    guard let connection = connector.latest.withLock({ $0?.connection }) else {
      throw .unreachable("the stream is not connected")
    }
    try await connection.send(message)
  }
}

/// Connects a ``MessageStream``.
struct MessageStreamConnector: StreamConnector {
  typealias Message = WireMessage

  struct Latest: Sendable {
    var number: UInt64
    var connection: any MessageConnection
  }

  let url: String
  let connector: any MessageConnector
  let form: MessageStream.Form
  let clock: any SessionClock
  let heartbeat: Duration
  /// The connection to send over.
  let latest = Locked<Latest?>(nil)
  private let opened = Locked<UInt64>(0)

  init(
    url: String, connector: any MessageConnector, form: MessageStream.Form, clock: any SessionClock, heartbeat: Duration
  ) {
    self.url = url
    self.connector = connector
    self.form = form
    self.clock = clock
    self.heartbeat = heartbeat
  }

  @concurrent func connect(
    with token: AccessToken, after id: String?
  ) async throws(StreamRefusal) -> AsyncThrowingStream<StreamSignal<WireMessage>, any Error> {
    var request = TransportRequest(method: "GET", url: url).authorized(by: token)
    if let id { form.resume(&request, id) }
    let connection: any MessageConnection
    do throws(MessageRefusal) { connection = try await connector.open(request) } catch { throw StreamRefusal(error) }
    let number = opened.withLock { number in
      number += 1
      return number
    }
    latest.withLock { $0 = Latest(number: number, connection: connection) }
    let (signals, continuation) = AsyncThrowingStream.makeStream(of: StreamSignal<WireMessage>.self)
    let pinging = Task { [clock, heartbeat] in
      while (try? await clock.sleep(for: heartbeat)) != nil { try? await connection.ping() }
    }
    let reading = Task { [form] in
      do {
        for try await incoming in connection.incoming {
          switch incoming {
          case .message(let message): continuation.yield(.message(message, id: form.id(message)))
          case .heartbeat: continuation.yield(.alive)
          }
        }
        continuation.finish()
      } catch {
        continuation.finish(throwing: error)
      }
    }
    continuation.onTermination = { [latest] _ in
      reading.cancel()
      pinging.cancel()
      connection.close()
      latest.withLock { if $0?.number == number { $0 = nil } }
    }
    return signals
  }
}

extension StreamRefusal {
  fileprivate init(_ refusal: MessageRefusal) {
    switch refusal {
    case .status(let status, let retryAfter): self.init(status: status, retryAfter: retryAfter)
    case .transport(let error): self.init(error)
    }
  }
}
