#if PostgreSQL
import HandstampRegistry

/// Why a statement has no result.
enum PostgresError: Error, Sendable, Hashable {
  /// The server refused it. It has no effect, and neither has the rest of its transaction.
  case refused(state: String, message: String)
  /// Another statement of its transaction was refused, so it has no effect.
  case aborted
  /// The connection was lost, or the server did not answer in time. What it had begun, it may still do.
  case lost(String)
  /// No connection could be made, so nothing was sent.
  case unconnected(String)
  /// There was no time left, so nothing was sent.
  case late

  /// Whether the same may succeed when it is tried again: concurrent transactions were in each other's way.
  var isTransient: Bool {
    switch self {
    // Serialization failure, and deadlock.
    case .refused(let state, _): ["40001", "40P01"].contains(state) || isLocked
    case .aborted: true
    case .lost, .unconnected, .late: false
    }
  }

  /// Whether a lock was not granted in time.
  var isLocked: Bool { if case .refused("55P03", _) = self { true } else { false } }

  /// Whether a server refuses because it may only be read: it is a standby, or has become one.
  var isReadOnly: Bool { if case .refused("25006", _) = self { true } else { false } }

  /// Whether another connection may do better at once.
  var isWorthAnotherTry: Bool { if case .lost = self { true } else { false } }

  /// Whether the connection must not be used any more.
  var endsConnection: Bool {
    switch self {
    case .lost: true
    // Prepared statements that are not there: a pooler has changed servers. And see ``isReadOnly``.
    case .refused(let state, _): isReadOnly || ["26000", "08P01"].contains(state)
    case .aborted, .unconnected, .late: false
    }
  }
}

extension String {
  /// The words of the text, without line breaks.
  var onOneLine: String { split(whereSeparator: \.isNewline).joined(separator: " ") }
}

extension RegistryStoreError {
  /// Describes a failure without statements and values, which may contain user data.
  init(_ fault: PostgresError) {
    switch fault {
    case .refused("23505", _): self = .alreadyExists
    case .refused("23503", _): self = .notFound
    case .refused("22021", _): self = .unavailable("a text contains NUL")
    case .refused(let state, let message): self = .unavailable("PostgreSQL: \(message) (\(state))")
    case .aborted: self = .unavailable("PostgreSQL: the transaction was rolled back")
    case .lost(let why): self = .unavailable("PostgreSQL: the connection was lost: \(why)")
    case .unconnected(let why): self = .unavailable("PostgreSQL: no connection: \(why.onOneLine)")
    case .late: self = .unavailable("PostgreSQL: no answer in time")
    }
  }
}
#endif
