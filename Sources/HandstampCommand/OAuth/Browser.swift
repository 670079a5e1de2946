#if Command
import Foundation

/// The user's browser.
enum Browser {
  /// Whether a browser is likely to be available here.
  static var isLikely: Bool {
    let environment = ProcessInfo.processInfo.environment
    if environment["BROWSER"]?.isEmpty == false { return true }
    #if os(macOS)
    return environment["SSH_CONNECTION"] == nil
    #else
    return (environment["DISPLAY"] ?? environment["WAYLAND_DISPLAY"])?.isEmpty == false
    #endif
  }

  /// Opens a page without waiting. Other users may see the URL in the process arguments; it contains no secret.
  static func open(_ page: String) {
    let process = Process()
    if let named = ProcessInfo.processInfo.environment["BROWSER"], !named.isEmpty {
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = [named, page]
    } else {
      #if os(macOS)
      process.executableURL = URL(fileURLWithPath: "/usr/bin/open")
      process.arguments = [page]
      #else
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = ["xdg-open", page]
      #endif
    }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    do { try process.run() } catch { Terminal.say("cannot open a browser") }
  }
}
#endif
