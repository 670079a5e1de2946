/// Background execution time granted by the system: on iOS, a background task.
@MainActor package protocol BackgroundTime: AnyObject {
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
/// - In the foreground, when the device is unlocked, and when the network is back: pending work is retried at once
///   (``SessionManager/retryPendingWork()``), so that a vault that was locked at launch is read again.
/// - In the background: the sessions' presence locks are closed. A refresh in flight may finish while background time lasts; then
///   refresh locks are released, before the program is suspended: iOS ends a program that is suspended while it holds a lock in a
///   group container (0xDEAD10CC), and its extensions would wait for the lock.
/// - In a background task: a token that expires soon is replaced, without a presence check.
@MainActor public final class SessionLifeCycle {
  private let controllers: () -> [SessionController]
  private let load: () async -> Void
  private let backgroundTime: (any BackgroundTime)?
  private var isInFront = true

  /// Creates the life cycle of an app with one session.
  public convenience init<Content>(for session: SessionManager<Content>) {
    self.init(for: session, backgroundTime: nil)
  }

  /// Creates the life cycle of an app with several accounts: of the active one, and of each whose session is open.
  public convenience init<Content>(for accounts: Accounts<Content>) {
    self.init(for: accounts, backgroundTime: nil)
  }

  /// - Parameter backgroundTime: The system's background time; `nil` if unavailable.
  package convenience init<Content>(for session: SessionManager<Content>, backgroundTime: (any BackgroundTime)?) {
    self.init(backgroundTime: backgroundTime) { [controller = session.controller] in [controller] }
  }

  /// - Parameter backgroundTime: The system's background time; `nil` if unavailable.
  package convenience init<Content>(for accounts: Accounts<Content>, backgroundTime: (any BackgroundTime)?) {
    self.init(backgroundTime: backgroundTime) { [weak accounts] in
      accounts?.openControllers ?? []
    } load: { [weak accounts] in
      if let accounts, !accounts.snapshot.isLoaded { await accounts.load() }
    }
  }

  /// - Parameters:
  ///   - controllers: Returns the controllers of the sessions in use.
  ///   - load: Loads what `controllers` reads, in an app that was launched for a background task.
  package init(
    backgroundTime: (any BackgroundTime)? = nil, controllers: @escaping () -> [SessionController],
    load: @escaping () async -> Void = {}
  ) {
    self.controllers = controllers
    self.load = load
    self.backgroundTime = backgroundTime
  }

  private var locks: [RefreshLockManager] { controllers().map(\.refreshLocks) }

  /// Call this when the app enters the foreground.
  public func didEnterForeground() {
    isInFront = true
    for locks in locks { locks.resume() }
    retryPendingWork()
  }

  /// Call this when the device was unlocked, as when protected data becomes available: vaults that were locked are read again.
  public func didUnlockDevice() { retryPendingWork() }

  /// Call this when the network is back after it was gone: requests that wait for it are sent at once. No effect in the background.
  package func didRegainNetwork() {
    if isInFront { retryPendingWork() }
  }

  /// Call this when the app enters the background.
  ///
  /// - Returns: the task that ends when all locks are released; an app does not need to wait for it.
  @discardableResult
  public func didEnterBackground() -> Task<Void, Never>? {
    isInFront = false
    for controller in controllers() { controller.presence?.lock() }
    let locks = locks
    let suspend: @MainActor () -> Void = { for locks in locks { locks.suspend() } }
    guard locks.contains(where: { $0.count > 0 }), let backgroundTime, backgroundTime.begin(suspend) else {
      suspend()
      return nil
    }
    return Task {
      for locks in locks { await locks.waitUntilIdle() }
      if !isInFront { suspend() }
      backgroundTime.end()
    }
  }

  /// Refreshes every session whose token lasts less than `validity`; for a background task.
  ///
  /// - Parameter validity: the minimum remaining lifetime. Default 15 min.
  /// - Returns: whether every signed-in session has a valid token; it may last less than `validity` if the server could not be
  ///   reached.
  public func refreshInBackground(_ validity: Duration = .seconds(900)) async -> Bool {
    await load()
    for locks in locks { locks.resume() }
    var isFresh = true
    for controller in controllers() {
      do throws(SessionError) {
        try await controller.refreshIfNeeded(minimumValidity: validity)
      } catch {
        if case .signedOut = error { continue }
        isFresh = false
      }
    }
    if !isInFront { for locks in locks { locks.suspend() } }
    return isFresh
  }

  private func retryPendingWork() {
    for controller in controllers() { Task { await controller.retryPendingWork() } }
  }
}
