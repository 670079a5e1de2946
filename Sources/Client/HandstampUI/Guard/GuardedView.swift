#if canImport(SwiftUI)
import SwiftUI

#if canImport(UIKit) && !os(watchOS)
import Foundation
import UIKit
#elseif canImport(AppKit)
import AppKit
#endif

/// Content that can be covered, and whose input is reported: touches, keys, the pointer, scrolling.
struct GuardedView<Content: View>: View {
  private let cover: CoverView?
  private let report: @MainActor () -> Void
  private let content: Content
  #if os(macOS)
  @State private var monitor = InputMonitor()
  #endif

  init(cover: CoverView?, report: @escaping @MainActor () -> Void, @ViewBuilder content: () -> Content) {
    self.cover = cover
    self.report = report
    self.content = content()
  }

  var body: some View {
    watched
      // Also for keys, which go to what has the focus below the cover.
      .disabled(cover?.isLocked ?? false)
      .accessibilityHidden(cover != nil)
      .overlay { cover }
  }

  private var watched: some View {
    #if os(macOS)
    content
      .onAppear { monitor.start(report) }
      .onDisappear { monitor.stop() }
      .onContinuousHover { if case .active = $0 { report() } }
    #elseif os(watchOS)
    content.simultaneousGesture(TapGesture().onEnded { report() })
    #elseif os(iOS)
    content
      .background { GuardedWindow(cover: cover, report: report) }
      .onContinuousHover { if case .active = $0 { report() } }
    #elseif canImport(UIKit)
    content.background { GuardedWindow(cover: cover, report: report) }
    #else
    content
    #endif
  }
}

#if os(macOS)
/// Sees what the user does in this app, in every window and sheet of it.
@MainActor final class InputMonitor {
  private var monitor: Any?

  func start(_ report: @escaping @MainActor () -> Void) {
    guard monitor == nil else { return }
    let input: NSEvent.EventTypeMask = [
      .keyDown, .leftMouseDown, .rightMouseDown, .otherMouseDown, .leftMouseDragged, .scrollWheel, .magnify, .swipe,
    ]
    monitor = NSEvent.addLocalMonitorForEvents(matching: input) { event in
      report()
      return event
    }
  }

  func stop() {
    if let monitor { NSEvent.removeMonitor(monitor) }
    monitor = nil
  }
}
#elseif canImport(UIKit) && !os(watchOS)
/// Reaches the window around the guard. Sheets and alerts are presented in it: their input is reported, and on iOS they are
/// covered.
private struct GuardedWindow: UIViewRepresentable {
  let cover: CoverView?
  let report: @MainActor () -> Void

  func makeUIView(context: Context) -> WindowView { WindowView(frame: .zero) }

  func updateUIView(_ view: WindowView, context: Context) {
    view.report = report
    view.cover = cover
  }
}

private final class WindowView: UIView, UIGestureRecognizerDelegate {
  var report: (@MainActor () -> Void)?
  var cover: CoverView? { didSet { showCover() } }
  /// Asks its delegate about every touch, press and scrolling in the window, and gets none: nothing else notices it.
  private let recognizer = UIPanGestureRecognizer()
  private var observers: [any NSObjectProtocol] = []
  private var above: UIWindow?

  override func didMoveToWindow() {
    super.didMoveToWindow()
    recognizer.view?.removeGestureRecognizer(recognizer)
    for observer in observers { NotificationCenter.default.removeObserver(observer) }
    observers = []
    if let window {
      recognizer.delegate = self
      recognizer.cancelsTouchesInView = false
      #if os(iOS)
      recognizer.allowedScrollTypesMask = .all
      #endif
      window.addGestureRecognizer(recognizer)
      // The keyboard on the screen is another process' window.
      observe(UITextField.textDidChangeNotification)
      observe(UITextView.textDidChangeNotification)
    }
    showCover()
  }

  func gestureRecognizer(_ gestureRecognizer: UIGestureRecognizer, shouldReceive event: UIEvent) -> Bool { seen() }
  func gestureRecognizer(_ gestureRecognizer: UIGestureRecognizer, shouldReceive touch: UITouch) -> Bool { seen() }
  func gestureRecognizer(_ gestureRecognizer: UIGestureRecognizer, shouldReceive press: UIPress) -> Bool { seen() }

  private func seen() -> Bool {
    report?()
    return false
  }

  private func observe(_ name: Notification.Name) {
    observers.append(
      NotificationCenter.default.addObserver(forName: name, object: nil, queue: .main) { [weak self] _ in
        MainActor.assumeIsolated {
          if let self { self.report?() }
        }
      })
  }

  /// Covers what is presented above the guard, by a window of its own.
  private func showCover() {
    #if os(iOS)
    guard let cover, let scene = window?.windowScene else {
      above?.isHidden = true
      above = nil
      return
    }
    // A text in a sheet has the focus still.
    if cover.isLocked { _ = window?.endEditing(true) }
    if let host = above?.rootViewController as? UIHostingController<CoverView> {
      host.rootView = cover
      return
    }
    let new = UIWindow(windowScene: scene)
    new.windowLevel = UIWindow.Level(rawValue: UIWindow.Level.alert.rawValue + 1)
    new.rootViewController = UIHostingController(rootView: cover)
    // VoiceOver must not read what is below.
    new.accessibilityViewIsModal = true
    new.isHidden = false
    above = new
    #endif
  }
}
#endif
#endif
