/// Runs `work`, and cancels it when it has reported no progress for `limit`.
///
/// - Parameters:
///   - failure: thrown then.
///   - work: calls its argument at each progress.
/// - Throws: `failure`, or the error of `work`.
@concurrent package func withIdleLimit<Value: Sendable, Failure: Error>(
  _ limit: Duration, throwing failure: Failure,
  _ work: @escaping @concurrent @Sendable (_ progress: @escaping @Sendable () -> Void) async throws(Failure) -> Value
) async throws(Failure) -> Value {
  let last = Locked(ContinuousClock.now)
  let result = await withTaskGroup(of: Result<Value, Failure>?.self) { group in
    group.addTask {
      do throws(Failure) { return .success(try await work { last.withLock { $0 = .now } }) } catch {
        return .failure(error)
      }
    }
    group.addTask {
      while case let end = last.withLock({ $0 }) + limit, end > .now {
        // Cancelled: the work decides.
        guard (try? await Task.sleep(until: end, clock: .continuous)) != nil else { return nil }
      }
      return .failure(failure)
    }
    defer { group.cancelAll() }
    while let result = await group.next() {
      if let result { return result }
    }
    return .failure(failure)
  }
  return try result.get()
}
