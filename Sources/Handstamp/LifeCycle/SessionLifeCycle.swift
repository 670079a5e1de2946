/// The system's leave to go on for a moment after the app has gone to the background: on iOS, a background task.
@MainActor public protocol BackgroundLeave: AnyObject {
  /// - Parameter onEnd: called when the leave is about to end; everything must be given up when it returns.
  /// - Returns: false where none is to be had.
  func begin(_ onEnd: @escaping @MainActor () -> Void) -> Bool
  func end()
}

/// What the life of an app means to its sessions.
///
/// - To the front: what waits for its time goes now; the same when the device was unlocked, so that a vault that was locked
///   at launch is read again.
/// - To the background: a presence lock is closed. A refresh that is in the air may come home for as long as the system
///   gives leave; then flight locks are given up, before the program is suspended.
/// - In a background task: a token that will soon be over is replaced, without asking anybody.
@MainActor public final class SessionLifeCycle {
  private let controllers: () -> [SessionController]
  private let presence: PresenceLock?
  private let locks: FlightLockKeeper?
  private let leave: (any BackgroundLeave)?
  private var isInFront = true

  /// - Parameters:
  ///   - controllers: those of the sessions in use now.
  ///   - presence: closed when the app goes to the background; nothing: it is left alone.
  ///   - locks: those of vaults in a group container.
  public init(
    presence: PresenceLock? = nil, locks: FlightLockKeeper? = nil, leave: (any BackgroundLeave)? = nil,
    controllers: @escaping () -> [SessionController]
  ) {
    self.controllers = controllers
    self.presence = presence
    self.locks = locks
    self.leave = leave
  }

  public func cameToFront() {
    isInFront = true
    locks?.resume()
    nudge()
  }

  /// The device was unlocked: the system says that protected data is available.
  public func unlocked() { nudge() }

  /// - Returns: the task that ends when all is given up; an app need not wait for it.
  @discardableResult
  public func wentToBackground() -> Task<Void, Never>? {
    isInFront = false
    presence?.lock()
    guard let locks else { return nil }
    guard locks.count > 0, let leave, leave.begin({ locks.suspend() }) else {
      locks.suspend()
      return nil
    }
    return Task {
      await locks.idle()
      if !isInFront { locks.suspend() }
      leave.end()
    }
  }

  /// Sees to it that every session's token lasts at least `validity` more; for a background task.
  ///
  /// - Returns: whether every session that is signed in has a token that serves; it may last less long where the server could
  ///   not be reached.
  public func refreshInBackground(_ validity: Duration = .seconds(900)) async -> Bool {
    locks?.resume()
    var isFresh = true
    for controller in controllers() {
      do throws(SessionError) {
        try await controller.freshen(minimumValidity: validity)
      } catch {
        if case .signedOut = error { continue }
        isFresh = false
      }
    }
    if !isInFront { locks?.suspend() }
    return isFresh
  }

  private func nudge() {
    for controller in controllers() { Task { await controller.nudge() } }
  }
}
