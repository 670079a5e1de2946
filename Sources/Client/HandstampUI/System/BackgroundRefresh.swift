#if canImport(BackgroundTasks) && !os(macOS) && !os(watchOS)
import BackgroundTasks
public import Foundation

/// Asks the system to wake the app for a refresh. The app then calls `SessionLifeCycle.refreshInBackground(_:)` from
/// SwiftUI's `.backgroundTask(.appRefresh(identifier))`.
public enum BackgroundRefresh {
  /// - Parameters:
  ///   - identifier: An entry of `BGTaskSchedulerPermittedIdentifiers` in the app's Info.plist.
  ///   - date: The earliest time; the system decides when.
  /// - Throws: The errors of `BGTaskScheduler`, for example if the user has disabled background refresh.
  public static func schedule(_ identifier: String, notBefore date: Date) throws {
    let request = BGAppRefreshTaskRequest(identifier: identifier)
    request.earliestBeginDate = date
    try BGTaskScheduler.shared.submit(request)
  }
}
#endif
