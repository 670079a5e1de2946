#if canImport(UIKit) && !os(watchOS)
import Foundation
public import Handstamp
import UIKit

/// Forwards UIKit's app notifications to a `SessionLifeCycle`. Keep it for as long as the app runs.
@MainActor public final class AppLifeCycle {
  private let life: SessionLifeCycle
  // Unsafe: written only by the initializer, and observers may be removed from any thread.
  nonisolated(unsafe) private var observers: [any NSObjectProtocol] = []

  public init(_ life: SessionLifeCycle) {
    self.life = life
    observe(UIApplication.willEnterForegroundNotification) { $0.didEnterForeground() }
    observe(UIApplication.didEnterBackgroundNotification) { $0.didEnterBackground() }
    observe(UIApplication.protectedDataDidBecomeAvailableNotification) { $0.didUnlockDevice() }
  }

  deinit { for observer in observers { NotificationCenter.default.removeObserver(observer) } }

  private func observe(_ name: Notification.Name, _ body: @escaping @MainActor @Sendable (SessionLifeCycle) -> Void) {
    observers.append(
      NotificationCenter.default.addObserver(forName: name, object: nil, queue: .main) { [weak self] _ in
        MainActor.assumeIsolated {
          if let self { body(self.life) }
        }
      })
  }
}

/// Background time from UIKit. Not available in app extensions.
@available(iOSApplicationExtension, unavailable)
@available(tvOSApplicationExtension, unavailable)
@available(visionOSApplicationExtension, unavailable)
public final class ApplicationBackgroundTime: BackgroundTime {
  private var task = UIBackgroundTaskIdentifier.invalid

  public init() {}

  public func begin(_ onEnd: @escaping @MainActor () -> Void) -> Bool {
    end()
    task = UIApplication.shared.beginBackgroundTask(withName: "handstamp.refresh") { [weak self] in
      onEnd()
      self?.end()
    }
    return task != .invalid
  }

  public func end() {
    guard task != .invalid else { return }
    UIApplication.shared.endBackgroundTask(task)
    task = .invalid
  }
}
#endif
