#if Operator && DEBUG
import HandstampCore
import HandstampSupport

/// A value that is set once and can be awaited by any number of tasks.
final class OneShot<Value: Sendable>: Sendable {
  private struct State {
    var value: Value?
    var last = 0
    var waiting: [Int: CheckedContinuation<Value, any Error>] = [:]
  }
  private let state = Locked(State())

  init() {}

  var hasHappened: Bool { state.withLock { $0.value != nil } }

  /// Sets the value. Later calls have no effect.
  func set(_ value: Value) {
    let waiting = state.withLock { state in
      guard state.value == nil else { return [CheckedContinuation<Value, any Error>]() }
      state.value = value
      defer { state.waiting = [:] }
      return Array(state.waiting.values)
    }
    for waiter in waiting { waiter.resume(returning: value) }
  }

  /// Waits for the value; returns at once if it is set.
  func value() async throws -> Value {
    let number = state.withLock { state in
      state.last += 1
      return state.last
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result = state.withLock { state -> Result<Value, any Error>? in
          if let value = state.value { return .success(value) }
          // The handler may have run already.
          if Task.isCancelled { return .failure(CancellationError()) }
          state.waiting[number] = continuation
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: number) }?.resume(throwing: CancellationError())
    }
  }
}
#endif
