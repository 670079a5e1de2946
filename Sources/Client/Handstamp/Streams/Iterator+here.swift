// `next(isolation:)` came with iOS 18, macOS 15, tvOS 18 and watchOS 11. Before, `next()` runs on another executor: the
// iterator goes there and comes back, and in the meantime nothing else uses it.

extension AsyncStream.Iterator where Element: Sendable {
  /// Returns the next element, without leaving the caller's actor where the system supports that.
  mutating func nextHere() async -> Element? {
    if #available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *) { return await next(isolation: #isolation) }
    return await nextElsewhere()
  }

  mutating func nextElsewhere() async -> Element? {
    // Unsafe: see above.
    nonisolated(unsafe) var base = self
    defer { self = base }
    return await base.next()
  }
}

extension AsyncThrowingStream.Iterator where Element: Sendable, Failure == any Error {
  /// Returns the next element, without leaving the caller's actor where the system supports that.
  mutating func nextHere() async throws(SessionError) -> Element? {
    do {
      if #available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *) {
        return try await next(isolation: #isolation)
      }
      return try await nextElsewhere()
    } catch { throw error as? SessionError ?? .invalidResponse("\(type(of: error))") }
  }

  mutating func nextElsewhere() async throws -> Element? {
    // Unsafe: see above.
    nonisolated(unsafe) var base = self
    defer { self = base }
    return try await base.next()
  }
}
