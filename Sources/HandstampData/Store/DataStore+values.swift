#if Data
public import GRDB
import HandstampCore

extension DataStore {
  /// What `fetch` brings, now and after every change of it. Values that come while nobody looks are replaced by the newest.
  ///
  /// It goes on across ``erase()`` and across a file that was made anew, and ends with ``remove()``.
  ///
  /// - Throws: what `fetch` throws.
  public func values<Value: Sendable & Equatable>(
    _ fetch: @escaping @Sendable (Database) throws -> Value
  ) -> AsyncThrowingStream<Value, any Error> {
    let (values, continuation) = AsyncThrowingStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
    let generations = followed()
    let task = Task.detached { [weak self] in
      var observing: Task<Void, Never>?
      for await generation in generations {
        observing?.cancel()
        // Nothing of the former one after the first of the next.
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

  /// The database in use, and every one that takes its place.
  private func followed() -> AsyncStream<Generation?> {
    let (generations, continuation) = AsyncStream.makeStream(
      of: Generation?.self, bufferingPolicy: .bufferingNewest(1))
    // Opens it where another program has erased it meanwhile.
    _ = try? current()
    let number = content.withLock { content -> UInt64? in
      guard !content.isRemoved else { return nil }
      content.lastFollower += 1
      content.followers[content.lastFollower] = continuation
      continuation.yield(content.generation)
      return content.lastFollower
    }
    guard let number else {
      continuation.finish()
      return generations
    }
    continuation.onTermination = { [weak self] _ in
      _ = self?.content.withLock { $0.followers.removeValue(forKey: number) }
    }
    return generations
  }
}
#endif
