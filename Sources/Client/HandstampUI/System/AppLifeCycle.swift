package import Foundation
public import Handstamp

#if canImport(UIKit) && !os(watchOS)
import UIKit
#endif

/// Connects an app's life cycle to its sessions. Keep it for as long as the app runs.
///
/// ```swift
/// life = AppLifeCycle(session, backgroundTask: "org.example.forum.refresh")
/// ```
/// | when | effect |
/// |---|---|
/// | the app enters the foreground, the device is unlocked, or the network is back | pending work is retried |
/// | the app enters the background | presence locks close; refreshes in flight finish in background time, then refresh locks are released, so that the system does not end the app (0xDEAD10CC); the background task is scheduled |
/// | the background task runs | tokens that expire soon are replaced |
///
/// The notifications are UIKit's: on macOS and watchOS only the network is observed, and `AuthGuardView` retries when the app
/// becomes active. Elsewhere nothing is observed. An app that continues to refresh in the background without a background task,
/// such as one that plays audio, uses `SessionLifeCycle` instead, and does not call its `didEnterBackground()`.
@MainActor public final class AppLifeCycle {
  /// The life cycle of the sessions, for events that the app reports itself.
  public let sessions: SessionLifeCycle
  /// Called when the network is back after it was gone, once pending work is being retried, such as to load content again:
  /// `life.onNetworkReturn = { session.refreshContent() }`. `nil` (the default) for nothing. Never called on Linux.
  public var onNetworkReturn: (@MainActor () -> Void)?
  private let backgroundTask: String?
  private let schedule: @MainActor (String, Date) -> Void
  #if canImport(Network)
  private var network: NetworkReturn?
  #endif
  // Unsafe: written only by the initializer, and observers may be removed from any thread.
  nonisolated(unsafe) private var observers: [any NSObjectProtocol] = []

  /// Creates the life cycle of an app with one session.
  ///
  /// - Parameter backgroundTask: An entry of `BGTaskSchedulerPermittedIdentifiers` in the app's Info.plist, for which the app
  ///   calls ``refreshInBackground()``: `.backgroundTask(.appRefresh(identifier)) { await life.refreshInBackground() }`. `nil`
  ///   (the default) for none. If the vault is used while the device is locked, create it with `inBackground: true`.
  @available(iOSApplicationExtension, unavailable)
  @available(tvOSApplicationExtension, unavailable)
  @available(visionOSApplicationExtension, unavailable)
  public convenience init<Content: Sendable>(_ session: SessionManager<Content>, backgroundTask: String? = nil) {
    self.init(SessionLifeCycle(for: session, backgroundTime: AppLifeCycle.time), backgroundTask: backgroundTask)
  }

  /// Creates the life cycle of an app with several accounts. It covers the sessions that the app has used since its launch, and
  /// the active one.
  @available(iOSApplicationExtension, unavailable)
  @available(tvOSApplicationExtension, unavailable)
  @available(visionOSApplicationExtension, unavailable)
  public convenience init<Content: Sendable>(_ accounts: Accounts<Content>, backgroundTask: String? = nil) {
    self.init(SessionLifeCycle(for: accounts, backgroundTime: AppLifeCycle.time), backgroundTask: backgroundTask)
  }

  /// Creates the life cycle of a `SessionLifeCycle` with parts of the app's choice.
  public convenience init(_ life: SessionLifeCycle, backgroundTask: String? = nil) {
    self.init(life, backgroundTask: backgroundTask, schedule: AppLifeCycle.submit)
  }

  @available(iOSApplicationExtension, unavailable)
  @available(tvOSApplicationExtension, unavailable)
  @available(visionOSApplicationExtension, unavailable)
  private static var time: (any BackgroundTime)? {
    #if canImport(UIKit) && !os(watchOS)
    return ApplicationBackgroundTime()
    #else
    return nil
    #endif
  }

  /// - Parameter schedule: Asks the system to run a background task after a date.
  package init(
    _ life: SessionLifeCycle, backgroundTask: String?, schedule: @escaping @MainActor (String, Date) -> Void
  ) {
    sessions = life
    self.backgroundTask = backgroundTask
    self.schedule = schedule
    #if canImport(UIKit) && !os(watchOS)
    observe(UIApplication.willEnterForegroundNotification) { $0.sessions.didEnterForeground() }
    observe(UIApplication.didEnterBackgroundNotification) { $0.didEnterBackground() }
    observe(UIApplication.protectedDataDidBecomeAvailableNotification) { $0.sessions.didUnlockDevice() }
    #endif
    #if canImport(Network)
    network = NetworkReturn { [weak self] in self?.didRegainNetwork() }
    #endif
  }

  deinit { for observer in observers { NotificationCenter.default.removeObserver(observer) } }

  /// Replaces the tokens that expire soon, and schedules the next background task.
  ///
  /// - Returns: As `SessionLifeCycle.refreshInBackground(_:)`.
  @discardableResult
  public func refreshInBackground() async -> Bool {
    scheduleRefresh()
    return await sessions.refreshInBackground()
  }

  package func didEnterBackground() {
    scheduleRefresh()
    sessions.didEnterBackground()
  }

  package func didRegainNetwork() {
    sessions.didRegainNetwork()
    onNetworkReturn?()
  }

  private func scheduleRefresh() {
    if let backgroundTask { schedule(backgroundTask, Date(timeIntervalSinceNow: 3600)) }
  }

  private static func submit(_ identifier: String, notBefore date: Date) {
    #if canImport(BackgroundTasks) && !os(macOS) && !os(watchOS)
    // Failures are ignored, as in the simulator, or if the user has disabled it: the session refreshes in the foreground.
    try? BackgroundRefresh.schedule(identifier, notBefore: date)
    #endif
  }

  #if canImport(UIKit) && !os(watchOS)
  private func observe(_ name: Notification.Name, _ body: @escaping @MainActor @Sendable (AppLifeCycle) -> Void) {
    observers.append(
      NotificationCenter.default.addObserver(forName: name, object: nil, queue: .main) { [weak self] _ in
        MainActor.assumeIsolated {
          if let self { body(self) }
        }
      })
  }
  #endif
}

/// Decides when the network is back: at the first path that is usable after one that was not.
package struct NetworkPaths: Sendable {
  private var wasGone = false

  package init() {}

  /// Takes note of the current path, and returns whether the network is back with it.
  package mutating func isBack(isUsable: Bool) -> Bool {
    defer { wasGone = !isUsable }
    return wasGone && isUsable
  }
}

#if canImport(Network)
import Dispatch
import Network

/// Observes the network for as long as it lives.
@MainActor final class NetworkReturn {
  private let monitor = NWPathMonitor()
  private var paths = NetworkPaths()

  /// - Parameter didReturn: Called when the network is back after it was gone.
  init(_ didReturn: @escaping @MainActor @Sendable () -> Void) {
    monitor.pathUpdateHandler = { [weak self] path in
      let isUsable = path.status == .satisfied
      // The monitor calls on the queue that it was started with.
      MainActor.assumeIsolated {
        if let self, self.paths.isBack(isUsable: isUsable) { didReturn() }
      }
    }
    monitor.start(queue: .main)
  }

  deinit { monitor.cancel() }
}
#endif
