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
