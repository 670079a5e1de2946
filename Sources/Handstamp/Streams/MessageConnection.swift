/// One message of a ``MessageConnection``.
public enum WireMessage: Sendable, Hashable {
  case text(String)
  case bytes([UInt8])
}

/// An open connection that carries messages both ways, such as a WebSocket (RFC 6455).
public protocol MessageConnection: Sendable {
  /// What comes over it, heartbeats included. It ends when the connection does, and throws when it broke.
  var incoming: AsyncThrowingStream<IncomingMessage, any Error> { get }
  /// Sends one message.
  @concurrent func send(_ message: WireMessage) async throws(TransportError)
  /// Asks the other side for a sign of life, which arrives as ``IncomingMessage/heartbeat``.
  @concurrent func ping() async throws(TransportError)
  /// Closes it; nothing comes after that. Asked again it does nothing.
  func close()
}

/// What comes over a ``MessageConnection``.
public enum IncomingMessage: Sendable, Hashable {
  case message(WireMessage)
  /// A ping, a pong: a sign of life without content.
  case heartbeat
}

/// Opens ``MessageConnection``s.
public protocol MessageConnector: Sendable {
  /// Opens one; the request carries the token, and its address begins with `ws:` or `wss:`.
  ///
  /// - Throws: ``MessageRefusal``.
  @concurrent func open(_ request: TransportRequest) async throws(MessageRefusal) -> any MessageConnection
}

/// Why no connection was opened.
@nonexhaustive
public enum MessageRefusal: Error, Sendable, Hashable {
  /// The server answered the upgrade with this status instead of 101.
  case status(Int, retryAfter: Duration?)
  case transport(TransportError)
}
