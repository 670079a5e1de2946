// Stands in for Apple's UIKit; see Security.swift.
public import Foundation

/// iOS 10, tvOS 10; these values: iOS 11, `newPassword` iOS 12
public struct UITextContentType: Sendable, Hashable {
  public static let username = UITextContentType()
  public static let password = UITextContentType()
  public static let newPassword = UITextContentType()
}

/// iOS 2, tvOS 9
public enum UIKeyboardType: Int, Sendable { case `default`, emailAddress }

/// iOS 2, tvOS 9
@MainActor open class UIWindow: NSObject {
  public override nonisolated init() { super.init() }
  public var isKeyWindow: Bool { false }
}

/// iOS 13, tvOS 13
@MainActor open class UIScene: NSObject {}
@MainActor open class UIWindowScene: UIScene {
  public var windows: [UIWindow] { [] }
}

/// iOS 4, tvOS 9
public struct UIBackgroundTaskIdentifier: Sendable, Hashable {
  public static let invalid = UIBackgroundTaskIdentifier()
}

/// iOS 2, tvOS 9
@MainActor open class UIApplication: NSObject {
  /// Xcode compiles packages for iOS and tvOS as if for extensions, too.
  @available(iOSApplicationExtension, unavailable)
  @available(tvOSApplicationExtension, unavailable)
  public class var shared: UIApplication { UIApplication() }
  override nonisolated init() { super.init() }
  /// iOS 13, tvOS 13
  public var connectedScenes: Set<UIScene> { [] }
  /// iOS 7; the handler is called on the main actor
  public func beginBackgroundTask(
    withName name: String?, expirationHandler: (@MainActor @Sendable () -> Void)? = nil
  ) -> UIBackgroundTaskIdentifier { .invalid }
  /// iOS 4
  public func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) {}

  public nonisolated class var willEnterForegroundNotification: Notification.Name { Notification.Name("a") }
  public nonisolated class var didEnterBackgroundNotification: Notification.Name { Notification.Name("b") }
  public nonisolated class var protectedDataDidBecomeAvailableNotification: Notification.Name { Notification.Name("c") }
}
