public import Foundation
public import HandstampCore
import HandstampSupport

/// Messages for a signed-in account over a ``MessageConnection``, such as a WebSocket, for as long as the session lasts.
///
/// It keeps its connection by the same rules as ``AuthenticatedStream``. The protocol defines where a message's ID is and how
/// to resume after one; without IDs nothing is resumed, and around a new connection some messages may be missing
/// or duplicated.
///
/// It pings at every heartbeat of ``StreamOptions``, so that a server which sends nothing on its own is not considered dead.
public struct MessageStream: AsyncSequence, Sendable {
  public typealias Element = WireMessage
  public typealias Failure = SessionError

  /// The parts of a message protocol that are needed to resume.
  struct Form: Sendable {
    var id: @Sendable (WireMessage) -> String?
    var resume: @Sendable (inout TransportRequest, _ after: String) -> Void
  }

  let connector: MessageStreamConnector
  let controller: SessionController
  let options: StreamOptions

  /// Creates a stream of the messages at `url`.
  ///
  /// - Parameters:
  ///   - url: `ws:` or `wss:`, on a server that may receive the session's token; the token is sent to no other.
  ///   - id: returns a message's ID; `nil` if it has none. Default: no message has one.
  ///   - resume: adds the ID to resume after to the request of a new connection. Default: as `Last-Event-ID`.
  public init(
    _ url: URL, controller: SessionController, connector: any MessageConnector,
    options: StreamOptions = StreamOptions(), id: @escaping @Sendable (WireMessage) -> String? = { _ in nil },
    resume: @escaping @Sendable (inout TransportRequest, _ after: String) -> Void = { request, id in
      request.headers.append(HeaderField("Last-Event-ID", id))
    }
  ) {
    self.connector = MessageStreamConnector(
      url: url.absoluteString, connector: connector, form: Form(id: id, resume: resume), clock: controller.clock,
      heartbeat: options.heartbeat)
    self.controller = controller
    self.options = options
  }

  public func makeAsyncIterator() -> Iterator {
    Iterator(base: StreamDriver.start(connector, controller, options: options, after: nil).makeAsyncIterator())
  }

  public struct Iterator: AsyncIteratorProtocol {
    var base: AsyncThrowingStream<WireMessage, any Error>.Iterator

    public mutating func next() async throws(SessionError) -> WireMessage? { try await base.nextHere() }
  }

  /// Sends a message over the connection that a reader of this stream opened last.
  ///
  /// - Throws: ``TransportError/connectionLost(_:)`` if there is no connection. Whether a sent message has arrived is for the
  ///   protocol to confirm.
  public func send(_ message: WireMessage) async throws(TransportError) {
    guard let connection = connector.latest.withLock({ $0?.connection }) else {
      throw .connectionLost("the stream is not connected")
    }
    try await connection.send(message)
  }
}

/// Opens the connections of a ``MessageStream``.
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

  @concurrent func connect(
    with token: AccessToken, after id: String?
  ) async throws(MessageError) -> AsyncThrowingStream<StreamSignal<WireMessage>, any Error> {
    var request = TransportRequest(method: "GET", url: url).authorized(by: token)
    if let id { form.resume(&request, id) }
    let connection = try await connector.open(request)
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
