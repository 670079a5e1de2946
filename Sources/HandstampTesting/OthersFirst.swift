/// Returns after all other runnable tasks of any priority have run. For tests that poll: with `Task.yield()` they would
/// starve tasks of lower priority, and wait forever for their results.
package func othersFirst() async {
  // A continuation rather than a task, because awaiting a task raises its priority.
  await withCheckedContinuation { continuation in
    Task.detached(priority: .background) { continuation.resume() }
  }
}
