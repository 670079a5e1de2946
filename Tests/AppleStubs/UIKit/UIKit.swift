// Stands in for Apple's UIKit; see Security.swift.
public import Foundation

@available(iOS 10, tvOS 10, *)
public struct UITextContentType: Sendable, Hashable {
  @available(iOS 11, tvOS 11, *)
  public static let username = UITextContentType()
  @available(iOS 11, tvOS 11, *)
  public static let password = UITextContentType()
  @available(iOS 12, tvOS 12, *)
  public static let newPassword = UITextContentType()
}

@available(iOS 2, tvOS 9, *)
public enum UIKeyboardType: Int, Sendable { case `default`, emailAddress, numberPad }

@available(iOS 2, tvOS 9, *)
@MainActor open class UIWindow: NSObject {
  public override nonisolated init() { super.init() }
  public var isKeyWindow: Bool { false }
}

@available(iOS 13, tvOS 13, *)
@MainActor open class UIScene: NSObject {}
@MainActor open class UIWindowScene: UIScene {
  public var windows: [UIWindow] { [] }
}

@available(iOS 4, tvOS 9, *)
public struct UIBackgroundTaskIdentifier: Sendable, Hashable {
  public static let invalid = UIBackgroundTaskIdentifier()
}

@available(iOS 2, tvOS 9, *)
@MainActor open class UIApplication: NSObject {
  /// Xcode compiles packages for iOS, tvOS and visionOS as if for extensions, too.
  @available(iOSApplicationExtension, unavailable)
  @available(tvOSApplicationExtension, unavailable)
  @available(visionOSApplicationExtension, unavailable)
  public class var shared: UIApplication { UIApplication() }
  override nonisolated init() { super.init() }
  @available(iOS 13, tvOS 13, *)
  public var connectedScenes: Set<UIScene> { [] }
  /// The handler is called on the main actor
  @available(iOS 7, *)
  public func beginBackgroundTask(
    withName name: String?, expirationHandler: (@MainActor @Sendable () -> Void)? = nil
  ) -> UIBackgroundTaskIdentifier { .invalid }
  @available(iOS 4, *)
  public func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) {}

  public nonisolated class var willEnterForegroundNotification: Notification.Name { Notification.Name("a") }
  public nonisolated class var didEnterBackgroundNotification: Notification.Name { Notification.Name("b") }
  public nonisolated class var protectedDataDidBecomeAvailableNotification: Notification.Name { Notification.Name("c") }
}

// Of Foundation there.
@available(iOS 8, tvOS 9, watchOS 2, *)
open class NSExtensionContext: NSObject {
  open var inputItems: [Any] { [] }
  open func completeRequest(returningItems items: [Any]?, completionHandler: (@Sendable (Bool) -> Void)? = nil) {}
  open func cancelRequest(withError error: any Error) {}
}

/// Of Foundation there.
@available(iOS 8, tvOS 9, watchOS 2, *)
open class NSExtensionItem: NSObject {
  open var attributedContentText: NSAttributedString? { nil }
}

@available(iOS 2, tvOS 9, *)
@available(watchOS, unavailable)
@MainActor open class UIView: NSObject {
  public override nonisolated init() { super.init() }
}

@available(iOS 2, tvOS 9, *)
@available(watchOS, unavailable)
@MainActor open class UIControl: UIView {
  public struct Event: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let touchUpInside = Event(rawValue: 1 << 6)
  }
  @available(iOS 14, tvOS 14, *)
  open func addAction(_ action: UIAction, for controlEvents: Event) {}
}

@available(iOS 13, tvOS 13, *)
@available(watchOS, unavailable)
@MainActor open class UIAction: NSObject {
  public convenience init(title: String = "", handler: @escaping (UIAction) -> Void) { self.init() }
  override nonisolated init() { super.init() }
}

@available(iOS 2, tvOS 9, *)
@available(watchOS, unavailable)
@MainActor open class UIViewController: NSObject {
  public init(nibName: String?, bundle: Bundle?) { super.init() }
  @available(iOS 5, tvOS 9, *)
  open func viewDidLoad() {}
  open func viewDidAppear(_ animated: Bool) {}
  @available(iOS 5, tvOS 9, *)
  open func present(_ viewController: UIViewController, animated: Bool, completion: (() -> Void)? = nil) {}
  @available(iOS 8, tvOS 9, *)
  open var extensionContext: NSExtensionContext? { nil }
}

@available(iOS 8, tvOS 9, *)
@available(watchOS, unavailable)
@MainActor open class UIAlertController: UIViewController {
  public enum Style: Int, Sendable { case actionSheet, alert }
  public convenience init(title: String?, message: String?, preferredStyle: Style) {
    self.init(nibName: nil, bundle: nil)
  }
  open func addAction(_ action: UIAlertAction) {}
}

@available(iOS 8, tvOS 9, *)
@available(watchOS, unavailable)
@MainActor open class UIAlertAction: NSObject {
  public enum Style: Int, Sendable { case `default`, cancel, destructive }
  public convenience init(title: String?, style: Style, handler: (@MainActor (UIAlertAction) -> Void)? = nil) {
    self.init()
  }
  override nonisolated init() { super.init() }
}
