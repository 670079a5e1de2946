#if canImport(UIKit) && !os(watchOS)
public import Handstamp
import UIKit

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
