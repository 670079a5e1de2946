/// An open connection that carries messages both ways, such as a WebSocket (RFC 6455).
public protocol MessageConnection: Sendable {
  /// The incoming messages, heartbeats included. Ends with the connection, and throws if it broke.
  var incoming: AsyncThrowingStream<IncomingMessage, any Error> { get }
  /// Sends one message.
  ///
  /// - Throws: ``TransportError`` if the connection has ended.
  @concurrent func send(_ message: WireMessage) async throws(TransportError)
  /// Asks the other side for a sign of life, which arrives as ``IncomingMessage/heartbeat``.
  @concurrent func ping() async throws(TransportError)
  /// Closes the connection; nothing arrives after that. Calling it again has no effect.
  func close()
}

/// Opens ``MessageConnection``s.
public protocol MessageConnector: Sendable {
  /// Opens a connection; the request carries the token, and its URL begins with `ws:` or `wss:`.
  ///
  /// - Throws: ``MessageError``.
  @concurrent func open(_ request: TransportRequest) async throws(MessageError) -> any MessageConnection
}

/// A reason for which no connection was opened.
@nonexhaustive
public enum MessageError: Error, Sendable, Hashable {
  /// The server's response has this status instead of the expected one: 101, or 200 with events.
  case status(Int, retryAfter: Duration?)
  case transport(TransportError)
}

/// An element of a connection: a message or a heartbeat.
public enum IncomingMessage: Sendable, Hashable {
  case message(WireMessage)
  /// A ping or a pong.
  case heartbeat
}

/// One message of a ``MessageConnection``.
public enum WireMessage: Sendable, Hashable {
  case text(String)
  case bytes([UInt8])
}
