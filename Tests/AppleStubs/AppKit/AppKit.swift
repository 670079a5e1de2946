// Stands in for Apple's AppKit; see Security.swift.
public import Foundation

@available(macOS 10.0, *)
@MainActor open class NSWindow: NSObject {
  public override nonisolated init() { super.init() }
}

@available(macOS 10.0, *)
@MainActor open class NSApplication: NSObject {
  public class var shared: NSApplication { NSApplication() }
  override nonisolated init() { super.init() }
  public var keyWindow: NSWindow? { nil }
}

@available(macOS 10.0, *)
open class NSEvent: NSObject {
  public struct EventTypeMask: OptionSet, Sendable {
    public var rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public static let leftMouseDown = EventTypeMask(rawValue: 1 << 1)
    public static let rightMouseDown = EventTypeMask(rawValue: 1 << 3)
    public static let leftMouseDragged = EventTypeMask(rawValue: 1 << 6)
    public static let keyDown = EventTypeMask(rawValue: 1 << 10)
    public static let scrollWheel = EventTypeMask(rawValue: 1 << 22)
    public static let otherMouseDown = EventTypeMask(rawValue: 1 << 25)
    public static let magnify = EventTypeMask(rawValue: 1 << 30)
    public static let swipe = EventTypeMask(rawValue: 1 << 31)
  }

  override init() { super.init() }
  /// The handler is called on the main thread.
  @available(macOS 10.6, *)
  public class func addLocalMonitorForEvents(
    matching mask: EventTypeMask, handler block: @escaping (NSEvent) -> NSEvent?
  ) -> Any? { nil }
  @available(macOS 10.6, *)
  public class func removeMonitor(_ eventMonitor: Any) {}
}
