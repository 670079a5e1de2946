/// Background execution time granted by the system: on iOS, a background task.
@MainActor public protocol BackgroundTime: AnyObject {
  /// Requests background time.
  ///
  /// - Parameter onEnd: called when the background time is about to end; all resources must be released when it returns.
  /// - Returns: `false` if no background time is available.
  func begin(_ onEnd: @escaping @MainActor () -> Void) -> Bool
  /// Gives the background time back.
  func end()
}

/// Connects the life cycle of an app to its sessions.
///
/// - In the foreground, and when the device is unlocked: pending work is retried at once
///   (``SessionController/retryPendingWork()``), so that a vault that was locked at launch is read again.
/// - In the background: the presence lock is closed. A refresh in flight may finish while background time lasts; then refresh
///   locks are released, before the program is suspended.
/// - In a background task: a token that expires soon is replaced, without a presence check.
@MainActor public final class SessionLifeCycle {
  private let controllers: () -> [SessionController]
  private let presence: PresenceLock?
  private let locks: RefreshLockManager?
  private let backgroundTime: (any BackgroundTime)?
  private var isInFront = true

  /// Creates a life cycle for the sessions of an app.
  ///
  /// - Parameters:
  ///   - presence: the lock to close when the app enters the background; `nil` if none.
  ///   - locks: the manager of the refresh locks of vaults in a group container; `nil` if none.
  ///   - backgroundTime: the system's background time; `nil` if unavailable.
  ///   - controllers: returns the controllers of the sessions in use.
  public init(
    presence: PresenceLock? = nil, locks: RefreshLockManager? = nil, backgroundTime: (any BackgroundTime)? = nil,
    controllers: @escaping () -> [SessionController]
  ) {
    self.controllers = controllers
    self.presence = presence
    self.locks = locks
    self.backgroundTime = backgroundTime
  }

  /// Call this when the app enters the foreground.
  public func didEnterForeground() {
    isInFront = true
    locks?.resume()
    retryPendingWork()
  }

  /// Call this when the device was unlocked, as when protected data becomes available: vaults that were locked are read again.
  public func didUnlockDevice() { retryPendingWork() }

  /// Call this when the app enters the background.
  ///
  /// - Returns: the task that ends when all locks are released; an app does not need to wait for it.
  @discardableResult
  public func didEnterBackground() -> Task<Void, Never>? {
    isInFront = false
    presence?.lock()
    guard let locks else { return nil }
    guard locks.count > 0, let backgroundTime, backgroundTime.begin({ locks.suspend() }) else {
      locks.suspend()
      return nil
    }
    return Task {
      await locks.waitUntilIdle()
      if !isInFront { locks.suspend() }
      backgroundTime.end()
    }
  }

  /// Refreshes every session whose token lasts less than `validity`; for a background task.
  ///
  /// - Parameter validity: the minimum remaining lifetime. Default 15 min.
  /// - Returns: whether every signed-in session has a valid token; it may last less than `validity` if the server could not be
  ///   reached.
  public func refreshInBackground(_ validity: Duration = .seconds(900)) async -> Bool {
    locks?.resume()
    var isFresh = true
    for controller in controllers() {
      do throws(SessionError) {
        try await controller.refreshIfNeeded(minimumValidity: validity)
      } catch {
        if case .signedOut = error { continue }
        isFresh = false
      }
    }
    if !isInFront { locks?.suspend() }
    return isFresh
  }

  private func retryPendingWork() {
    for controller in controllers() { Task { await controller.retryPendingWork() } }
  }
}
