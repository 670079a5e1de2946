#if Data
public import GRDB
import HandstampCore
import HandstampSupport

extension DataStore {
  /// Returns the results of `fetch`, now and after every change. An unread value is replaced by the next.
  ///
  /// The sequence continues across ``erase()`` and the rebuilding of a corrupt file, and ends with ``remove()``.
  ///
  /// - Throws: The errors of `fetch`.
  public func values<Value: Sendable & Equatable>(
    _ fetch: @escaping @Sendable (Database) throws -> Value
  ) -> AsyncThrowingStream<Value, any Error> {
    let (values, continuation) = AsyncThrowingStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
    let generations = followed()
    let task = Task.detached { [weak self] in
      var observing: Task<Void, Never>?
      for await generation in generations {
        observing?.cancel()
        // No values of the previous database may follow the first of the next.
        await observing?.value
        guard let generation else { continue }
        observing = Task { [weak self] in
          do {
            let observation = ValueObservation.tracking(fetch).removeDuplicates()
            for try await value in observation.values(in: generation.pool, bufferingPolicy: .bufferingNewest(1)) {
              continuation.yield(value)
            }
          } catch {
            guard !Task.isCancelled else { return }
            if (try? self?.renew(after: error, generation)) ?? false { return }
            continuation.finish(throwing: error)
          }
        }
      }
      observing?.cancel()
      await observing?.value
      continuation.finish()
    }
    continuation.onTermination = { _ in task.cancel() }
    return values
  }

  /// The database in use and all of its successors.
  private func followed() -> AsyncStream<Generation?> {
    // Reopens the database if another program has erased it in the meantime.
    _ = try? current()
    return generations.subscribe()
  }
}
#endif
