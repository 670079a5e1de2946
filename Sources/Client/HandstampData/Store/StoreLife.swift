#if Data
import HandstampCore
import HandstampSupport

/// Connects an account's store to the life cycle of an app. In the foreground, the store is pruned some time after
/// activation and then at intervals; in the background nothing runs, and all writes are in the main file.
///
/// ```swift
/// let life = StoreLife(store, limits: PruneLimits(bytes: 64 << 20))
/// life.didEnterForeground()  // and life.didEnterBackground() when the system says so
/// ```
/// Pruning ends with the last reference to this object.
public final class StoreLife: Sendable {
  private let store: DataStore
  private let limits: PruneLimits
  private let delay: Duration
  private let pause: Duration
  private let pruning = Locked<Task<Void, Never>?>(nil)

  /// - Parameters:
  ///   - delay: The time from activation to the first pruning.
  ///   - pause: The interval between prunings.
  public init(
    _ store: DataStore, limits: PruneLimits = PruneLimits(), after delay: Duration = .seconds(30),
    every pause: Duration = .seconds(6 * 3600)
  ) {
    self.store = store
    self.limits = limits
    self.delay = delay
    self.pause = pause
  }

  deinit { pruning.withLock { $0?.cancel() } }

  /// Starts pruning. Calling it again has no effect.
  public func didEnterForeground() {
    pruning.withLock { pruning in
      guard pruning == nil else { return }
      pruning = Task { [store, limits, delay, pause] in
        await store.pruneRegularly(limits, after: delay, every: pause)
      }
    }
  }

  /// Ends the pruning after its current batch, and flushes the store. Acknowledged writes are safe without it; it keeps
  /// the log short, and the file unlocked while the program is suspended.
  ///
  /// - Returns: A task that finishes when this is done. Wait for it within the background time granted by the system.
  @discardableResult public func didEnterBackground() -> Task<Void, Never> {
    let ending = pruning.withLock { $0.take() }
    ending?.cancel()
    return Task { [store] in
      await ending?.value
      // A store removed in the meantime has nothing to save, and on a full disk the log is kept.
      try? await store.flush()
    }
  }
}
#endif
