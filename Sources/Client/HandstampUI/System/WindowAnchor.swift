#if canImport(AuthenticationServices) && !os(watchOS)
public import AuthenticationServices

#if canImport(UIKit)
public import UIKit
#elseif canImport(AppKit)
public import AppKit
#endif

/// The window for the system's sheets. Not available in app extensions, which have no application object.
@available(iOSApplicationExtension, unavailable)
@available(tvOSApplicationExtension, unavailable)
@available(visionOSApplicationExtension, unavailable)
public enum WindowAnchor {
  /// The front window, or a new window if there is none, over which nothing can be shown.
  public static let front: @MainActor @Sendable () -> ASPresentationAnchor = {
    #if canImport(UIKit)
    let windows = UIApplication.shared.connectedScenes.compactMap { $0 as? UIWindowScene }.flatMap(\.windows)
    return windows.first(where: \.isKeyWindow) ?? windows.first ?? UIWindow()
    #else
    return NSApplication.shared.keyWindow ?? NSWindow()
    #endif
  }
}
#endif
