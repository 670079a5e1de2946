#if Programs
import Foundation

/// The machine that the figures were measured on.
enum Machine {
  static var cores: Int { ProcessInfo.processInfo.activeProcessorCount }
  static var system: String { ProcessInfo.processInfo.operatingSystemVersionString }

  static var isRelease: Bool {
    #if DEBUG
    false
    #else
    true
    #endif
  }
  static var build: String { isRelease ? "release" : "debug" }

  /// The load average of the last 1, 5 and 15 minutes.
  static var load: String {
    var averages = [Double](repeating: 0, count: 3)
    guard getloadavg(&averages, 3) == 3 else { return "unknown" }
    return averages.map { String(($0 * 10).rounded() / 10) }.joined(separator: " ")
  }

  /// A value of `/proc/PID/status` in bytes.
  static func memory(_ name: String, of process: String = "self") -> Int {
    let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
    return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0) * 1024
  }

  /// The CPU time used by this process so far, including system calls.
  static var processorTime: Duration {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
  }
}
#endif
