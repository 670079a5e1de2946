#if Operator && DEBUG
@testable import HandstampCommand
@testable import HandstampCommandLine

/// An expected observation that did not occur.
struct TourFailure: Error, CustomStringConvertible {
  var description: String
  init(_ description: String) { self.description = description }
}

/// Fails with `message` unless `condition` holds.
func expect(_ condition: Bool, _ message: @autoclosure () -> String) throws {
  if !condition { throw TourFailure(message()) }
}

/// Returns the result of `body`.
///
/// - Throws: A ``TourFailure`` after `limit`.
func within<Value: Sendable>(
  _ limit: Duration, _ what: String, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  try await withThrowingTaskGroup(of: Value.self) { group in
    group.addTask { try await body() }
    group.addTask {
      try await Task.sleep(for: limit)
      throw TourFailure("timed out after \(limit.words): \(what)")
    }
    defer { group.cancelAll() }
    guard let value = try await group.next() else { throw CancellationError() }
    return value
  }
}

extension Duration {
  /// Milliseconds with one decimal place.
  var inMilliseconds: String {
    let (seconds, attoseconds) = components
    let tenths = seconds * 10_000 + attoseconds / 100_000_000_000_000
    return "\(tenths / 10).\(tenths % 10) ms"
  }
}
#endif
