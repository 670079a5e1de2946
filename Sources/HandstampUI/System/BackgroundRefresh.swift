#if canImport(BackgroundTasks) && !os(macOS) && !os(watchOS)
import BackgroundTasks
public import Foundation

/// Asks the system to wake the app for a refresh. What then happens is
/// `SessionLifeCycle.refreshInBackground(_:)`, called from SwiftUI's `.backgroundTask(.appRefresh(identifier))`.
public enum BackgroundRefresh {
  /// - Parameters:
  ///   - identifier: as in `BGTaskSchedulerPermittedIdentifiers` of the app's Info.plist.
  ///   - date: not before; the system decides when.
  /// - Throws: what `BGTaskScheduler` throws, such as where the person has switched background refresh off.
  public static func schedule(_ identifier: String, notBefore date: Date) throws {
    let request = BGAppRefreshTaskRequest(identifier: identifier)
    request.earliestBeginDate = date
    try BGTaskScheduler.shared.submit(request)
  }
}
#endif
