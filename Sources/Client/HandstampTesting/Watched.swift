import HandstampSupport

/// A value that tests wait for. Each wait ends with its task, too: a test's time limit cancels it, and the expectation
/// after the wait fails.
package final class Watched<Value: Sendable>: Sendable {
  private struct Waiter: Sendable {
    var isOver: @Sendable (Value) -> Bool
    var continuation: CheckedContinuation<Void, Never>
  }
  private struct Content: Sendable {
    var value: Value
    var last = 0
    var waiters: [Int: Waiter] = [:]
  }
  private let content: Locked<Content>

  package init(_ value: Value) { content = Locked(Content(value: value)) }

  package var value: Value { content.withLock { $0.value } }

  /// Changes the value, and resumes the tasks that waited for that, in the order in which they came.
  @discardableResult package func change<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    let (result, ready) = content.withLock { content in
      let result = body(&content.value)
      let ready = content.waiters.filter { $0.value.isOver(content.value) }
      for number in ready.keys { content.waiters[number] = nil }
      return (result, ready.sorted { $0.key < $1.key }.map(\.value.continuation))
    }
    for continuation in ready { continuation.resume() }
    return result
  }

  /// Returns the value once it is as wanted, or when the task is cancelled.
  @discardableResult package func wait(until isOver: @escaping @Sendable (Value) -> Bool) async -> Value {
    let number = content.withLock { content in
      content.last += 1
      return content.last
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isWaiting = content.withLock { content in
          // The handler may have run already.
          guard !Task.isCancelled, !isOver(content.value) else { return false }
          content.waiters[number] = Waiter(isOver: isOver, continuation: continuation)
          return true
        }
        if !isWaiting { continuation.resume() }
      }
    } onCancel: {
      content.withLock { $0.waiters.removeValue(forKey: number) }?.continuation.resume()
    }
    return value
  }
}
