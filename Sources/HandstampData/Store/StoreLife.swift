#if Data
import HandstampCore

/// What the life of an app means to an account's store: in front, it is pruned some time after the start and then at
/// intervals; in the background nothing runs, and what was written lies in the main file.
///
/// ```swift
/// let life = StoreLife(store, limits: PruneLimits(bytes: 64 << 20))
/// life.cameToFront()  // and life.wentToBackground() when the system says so
/// ```
/// The pruning ends with the last reference to this.
public final class StoreLife: Sendable {
  private let store: DataStore
  private let limits: PruneLimits
  private let delay: Duration
  private let pause: Duration
  private let pruning = Locked<Task<Void, Never>?>(nil)

  /// - Parameters:
  ///   - delay: from the front to the first pruning.
  ///   - pause: between two.
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

  /// Prunes from now on. Said twice, it counts once.
  public func cameToFront() {
    pruning.withLock { pruning in
      guard pruning == nil else { return }
      pruning = Task { [store, limits, delay, pause] in
        await store.pruneRegularly(limits, after: delay, every: pause)
      }
    }
  }

  /// Ends the pruning after its batch, and flushes. What was acknowledged is safe without it; this keeps the log short, and
  /// the file unlocked while the program is suspended.
  ///
  /// - Returns: the task that ends when that is done: wait for it within the time that the system gives.
  @discardableResult public func wentToBackground() -> Task<Void, Never> {
    let ending = pruning.withLock { pruning in
      defer { pruning = nil }
      return pruning
    }
    ending?.cancel()
    return Task { [store] in
      await ending?.value
      // A store that was removed meanwhile has nothing to save; a disk that is full keeps the log.
      try? await store.flush()
    }
  }
}
#endif
