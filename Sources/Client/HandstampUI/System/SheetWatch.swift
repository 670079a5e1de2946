package import Foundation
import HandstampCore
import HandstampSupport

#if canImport(UIKit) && !os(watchOS)
import UIKit
#endif

/// Notices that the app goes to the background while a sheet of the system is shown. The system may end the sheet then, with the
/// code of a user who closes it.
package final class SheetWatch: Sendable {
  package static let words = "the app went to the background, which ended it"

  private let away = Locked(false)
  // Unsafe: written only by the initializer, and observers may be removed from any thread.
  nonisolated(unsafe) private var observers: [any NSObjectProtocol] = []

  /// Whether the app is in the background, or not yet active again.
  package var isAway: Bool { away.withLock { $0 } }

  package init(leaving: Notification.Name, returning: Notification.Name) {
    for (name, isAway) in [(leaving, true), (returning, false)] {
      observers.append(
        NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { [away] _ in
          away.withLock { $0 = isAway }
        })
    }
  }

  deinit { for observer in observers { NotificationCenter.default.removeObserver(observer) } }

  /// The watch of an app; `nil` on macOS, where a sheet stays.
  static var ofApp: SheetWatch? {
    #if canImport(UIKit) && !os(watchOS)
    SheetWatch(
      leaving: UIApplication.didEnterBackgroundNotification, returning: UIApplication.didBecomeActiveNotification)
    #else
    nil
    #endif
  }
}
