/// Comes back after whoever else wants to run has run, at whatever priority. For tests that look again and again: with
/// `Task.yield()` they would keep everybody of a lower priority from running, and wait for ever for what those do.
package func othersFirst() async {
  // A continuation, because the priority of whoever awaits a task goes over to it.
  await withCheckedContinuation { continuation in
    Task.detached(priority: .background) { continuation.resume() }
  }
}
