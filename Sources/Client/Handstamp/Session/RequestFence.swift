import HandstampSupport

/// The requests of the current session: a sign-out cancels them, and discards a response that arrives nevertheless.
final class RequestFence: Sendable {
  private struct Content: Sendable {
    var last: UInt64 = 0
    var tasks: [UInt64: @Sendable () -> Void] = [:]
    var generation: UInt64 = 0
  }
  private let content = Locked(Content())

  /// The number of sessions that have ended. Work that began in one generation is discarded in the next.
  var generation: UInt64 { content.withLock { $0.generation } }

  /// Runs `body` until it is done or the generation ends; then returns `nil`.
  func run<Value: Sendable, Failure: Error>(
    in generation: UInt64, _ body: @escaping @Sendable () async throws(Failure) -> Value
  ) async throws(Failure) -> Value? {
    let number = content.withLock { content -> UInt64? in
      guard content.generation == generation else { return nil }
      content.last += 1
      content.tasks[content.last] = {}
      return content.last
    }
    guard let number else { return nil }
    let task = Task { () -> Result<Value, Failure>? in
      // Checked again before a byte is sent: the generation may have ended before this task ran.
      guard content.withLock({ $0.tasks[number] != nil }) else { return nil }
      do throws(Failure) { return .success(try await body()) } catch { return .failure(error) }
    }
    let isCancelled = content.withLock { content in
      guard content.tasks[number] != nil else { return true }
      content.tasks[number] = { task.cancel() }
      return false
    }
    if isCancelled { task.cancel() }
    let result = await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
    let isCurrent = content.withLock { content in
      content.tasks[number] = nil
      return content.generation == generation
    }
    guard isCurrent else { return nil }
    return try result?.get()
  }

  func cancelAll() {
    let cancels = content.withLock { content in
      content.generation += 1
      return Array(exchange(&content.tasks, with: [:]).values)
    }
    for cancel in cancels { cancel() }
  }
}
