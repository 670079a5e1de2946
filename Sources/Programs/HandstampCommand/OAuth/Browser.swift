#if Command
import Foundation
import HandstampCommandLine
import HandstampSupport

enum Browser {
  static var isLikely: Bool { hasDesktop { ProcessEnvironment[$0] } }

  /// - Parameter value: returns the value of a variable; `nil` if it is not set, or empty.
  static func hasDesktop(_ value: (String) -> String?) -> Bool {
    #if os(macOS)
    return value("BROWSER") != nil || value("SSH_CONNECTION") == nil
    #else
    return ["BROWSER", "DISPLAY", "WAYLAND_DISPLAY"].contains { value($0) != nil }
    #endif
  }

  /// Opens a page without waiting. Other users may see the URL in the process arguments; it contains no secret.
  ///
  /// - Parameter other: the command that signs in without one.
  static func open(_ page: String, insteadOf other: String) {
    let named = ProcessInfo.processInfo.environment["BROWSER"] ?? ""
    #if os(macOS)
    let usual = ["/usr/bin/open", page]
    #else
    let usual = ["xdg-open", page]
    #endif
    guard let command = named.isEmpty ? usual : command(in: named, for: page) else {
      return sayNone(other)
    }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    let start = ContinuousClock.now
    // A browser that the user closes later may end with any status.
    process.terminationHandler = {
      if $0.terminationStatus != 0, ContinuousClock.now - start < .seconds(5) { sayNone(other) }
    }
    do { try process.run() } catch { sayNone(other) }
  }

  private static func sayNone(_ other: String) {
    Terminal.say("cannot open a browser")
    Terminal.say("hint: open the URL above yourself, or run: \(other)")
  }

  /// Returns the first command of `BROWSER` whose program is there: a list separated by colons, with `%s` for the URL, which is
  /// otherwise the last argument.
  static func command(
    in list: String, for page: String, isThere: (String) -> Bool = Browser.isThere
  ) -> [String]? {
    for entry in list.split(separator: ":") {
      let words = entry.split(separator: " ").map(String.init)
      guard let program = words.first, isThere(program) else { continue }
      guard words.contains(where: { $0.contains("%s") }) else { return words + [page] }
      return words.map { $0.replacing("%s", with: page) }
    }
    return nil
  }

  private static func isThere(_ program: String) -> Bool {
    if program.contains("/") { return access(program, X_OK) == 0 }
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return path.split(separator: ":").contains { access("\($0)/\(program)", X_OK) == 0 }
  }
}
#endif
