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
