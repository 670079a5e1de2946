/// One message of a ``MessageConnection``.
public enum WireMessage: Sendable, Hashable {
  case text(String)
  case bytes([UInt8])
}

/// An element of a connection: a message or a heartbeat.
public enum IncomingMessage: Sendable, Hashable {
  case message(WireMessage)
  /// A ping or a pong.
  case heartbeat
}
