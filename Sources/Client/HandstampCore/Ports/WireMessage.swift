/// One message of a ``MessageConnection``.
public enum WireMessage: Sendable, Hashable {
  case text(String)
  case bytes([UInt8])
}
