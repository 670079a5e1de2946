import Observation

/// Returns whether `condition` holds, at the latest after four minutes. For a condition that another process or a thread brings about:
/// a loop without a pause would take the processor from it. On a manual clock, wait by ``othersFirst()``.
package func eventually(_ condition: () async throws -> Bool) async rethrows -> Bool {
  try await eventually { try await condition() ? true : nil } ?? false
}

/// Returns a value once `find` finds it; `nil` after four minutes.
package func eventually<Value>(_ find: () async throws -> Value?) async rethrows -> Value? {
  let end = ContinuousClock.now + .seconds(240)
  while ContinuousClock.now < end, !Task.isCancelled {
    if let value = try await find() { return value }
    try? await Task.sleep(for: .milliseconds(2))
  }
  return try await find()
}

/// Returns once `isWanted` holds, or the task is cancelled. It is asked again after each change of the observable values that
/// it reads.
@MainActor package func observed(until isWanted: @escaping @MainActor () -> Bool) async {
  while !isWanted(), !Task.isCancelled {
    let (changes, change) = AsyncStream.makeStream(of: Void.self)
    withObservationTracking {
      _ = isWanted()
    } onChange: {
      change.yield()
    }
    for await _ in changes { break }
    await othersFirst()
  }
}

/// Returns after all other runnable tasks of any priority have run. For tests that poll: with `Task.yield()` they would
/// starve tasks of lower priority, and wait forever for their results.
package func othersFirst() async {
  // A continuation rather than a task, because awaiting a task raises its priority.
  await withCheckedContinuation { continuation in
    Task.detached(priority: .background) { continuation.resume() }
  }
}

/// Polls in that way until `isOver` is `true`, or the task is cancelled, which a test's time limit does.
package func othersFirst(until isOver: () async throws -> Bool) async rethrows {
  while try await !isOver(), !Task.isCancelled { await othersFirst() }
}
