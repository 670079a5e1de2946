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
  @available(iOS 12, tvOS 12, *)
  public static let oneTimeCode = UITextContentType()
}

@available(iOS 2, tvOS 9, *)
public enum UIKeyboardType: Int, Sendable { case `default`, emailAddress, numberPad }

@available(iOS 2, tvOS 9, *)
@available(watchOS, unavailable)
@MainActor open class UIWindow: UIView {
  public convenience init() { self.init(frame: .zero) }
  @available(iOS 13, tvOS 13, *)
  public convenience init(windowScene: UIWindowScene) { self.init(frame: .zero) }
  public var isKeyWindow: Bool { false }
  @available(iOS 13, tvOS 13, *)
  public weak var windowScene: UIWindowScene?
  @available(iOS 4, *)
  public var rootViewController: UIViewController?
  public var windowLevel = Level.alert
  public struct Level: Sendable, Hashable {
    public var rawValue: CGFloat
    public init(rawValue: CGFloat) { self.rawValue = rawValue }
    public static let alert = Level(rawValue: 2000)
  }
}

@available(iOS 13, tvOS 13, *)
@available(watchOS, unavailable)
@MainActor open class UIScene: NSObject {}
@available(watchOS, unavailable)
@MainActor open class UIWindowScene: UIScene {
  public var windows: [UIWindow] { [] }
}

@available(iOS 4, tvOS 9, *)
public struct UIBackgroundTaskIdentifier: Sendable, Hashable {
  public static let invalid = UIBackgroundTaskIdentifier()
}

@available(iOS 2, tvOS 9, *)
@available(watchOS, unavailable)
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
  public nonisolated class var didBecomeActiveNotification: Notification.Name { Notification.Name("e") }
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
  public init(frame: CGRect) { super.init() }
  public var isHidden = false
  /// Of `NSObject` there
  @available(iOS 5, *)
  open var accessibilityViewIsModal = false
  open var window: UIWindow? { nil }
  open func didMoveToWindow() {}
  @discardableResult open func endEditing(_ force: Bool) -> Bool { true }
  @available(iOS 3.2, *)
  open func addGestureRecognizer(_ gestureRecognizer: UIGestureRecognizer) {}
  @available(iOS 3.2, *)
  open func removeGestureRecognizer(_ gestureRecognizer: UIGestureRecognizer) {}
}

@available(iOS 2, tvOS 9, *)
@available(watchOS, unavailable)
@MainActor open class UITextField: UIView {
  public nonisolated class var textDidChangeNotification: Notification.Name { Notification.Name("d") }
}

@available(iOS 2, tvOS 9, *)
@available(watchOS, unavailable)
@MainActor open class UITextView: UIView {
  public nonisolated class var textDidChangeNotification: Notification.Name { Notification.Name("e") }
}

@available(iOS 2, tvOS 9, *)
@available(watchOS, unavailable)
@MainActor open class UIEvent: NSObject {}
@available(iOS 2, tvOS 9, *)
@available(watchOS, unavailable)
@MainActor open class UITouch: NSObject {}
@available(iOS 9, tvOS 9, *)
@available(watchOS, unavailable)
@MainActor open class UIPress: NSObject {}

@available(iOS 3.2, tvOS 9, *)
@available(watchOS, unavailable)
@MainActor open class UIGestureRecognizer: NSObject {
  public override nonisolated init() { super.init() }
  open weak var delegate: (any UIGestureRecognizerDelegate)?
  open var view: UIView? { nil }
  open var cancelsTouchesInView = true
}

@available(iOS 13.4, tvOS 13.4, *)
@available(watchOS, unavailable)
public struct UIScrollTypeMask: OptionSet, Sendable {
  public var rawValue: Int
  public init(rawValue: Int) { self.rawValue = rawValue }
  public static let all = UIScrollTypeMask(rawValue: 3)
}

@available(iOS 3.2, tvOS 9, *)
@available(watchOS, unavailable)
@MainActor open class UIPanGestureRecognizer: UIGestureRecognizer {
  @available(iOS 13.4, *)
  @available(tvOS, unavailable)
  open var allowedScrollTypesMask: UIScrollTypeMask {
    get { .all }
    set {}
  }
}

/// Its requirements are optional there.
@available(iOS 3.2, tvOS 9, *)
@available(watchOS, unavailable)
@MainActor public protocol UIGestureRecognizerDelegate: AnyObject {
  @available(iOS 13.4, tvOS 13.4, *)
  func gestureRecognizer(_ gestureRecognizer: UIGestureRecognizer, shouldReceive event: UIEvent) -> Bool
  @available(iOS 3.2, tvOS 9, *)
  func gestureRecognizer(_ gestureRecognizer: UIGestureRecognizer, shouldReceive touch: UITouch) -> Bool
  @available(iOS 9, tvOS 9, *)
  func gestureRecognizer(_ gestureRecognizer: UIGestureRecognizer, shouldReceive press: UIPress) -> Bool
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
