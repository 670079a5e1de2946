#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Progress on standard error: a bar on a terminal, otherwise a plain line for every tenth.
enum Console {
  private static let isTerminal = isatty(2) == 1

  static func note(_ text: String) { write(text + "\n") }

  /// - Parameter chunk: the largest increase of `done` since the last call.
  static func progress(
    _ done: UInt64, of total: UInt64, by chunk: UInt64, violations: Int, after elapsed: Duration
  ) {
    let seconds = max(0.001, elapsed / .seconds(1))
    let rate = Double(done) / seconds
    let words =
      "\(done) of \(total) seeds, \(Int(rate)) seeds/s, \(violations) violations, "
      + "\(Int(Double(total - done) / rate)) s to go"
    if isTerminal {
      let filled = Int(done * 30 / max(1, total))
      let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: 30 - filled)
      write("\r[\(bar)] \(words)\u{1b}[K")
    } else if done % max(1, total / 10) < chunk {
      note(words)
    }
  }

  static func endProgress() { if isTerminal { write("\r\u{1b}[K") } }

  private static func write(_ text: String) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { systemWrite(2, $0.baseAddress, $0.count) }
      guard count > 0 else { return }
      bytes = bytes.dropFirst(count)
    }
  }
}

private func systemWrite(_ file: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int { write(file, bytes, count) }
