#if Command
import Dispatch
import HandstampCommandLine

/// The bridge's side of the program that started it. Reading and writing block, so each has a thread of its own.
final class BridgePipes: Sendable {
  private let input = DispatchQueue(label: "handstamp.mcp.input")
  private let output = DispatchQueue(label: "handstamp.mcp.output")

  /// Returns the next bytes of stdin; `nil` at its end.
  func read() async -> [UInt8]? {
    await withCheckedContinuation { continuation in
      input.async { continuation.resume(returning: HelperInput.next()) }
    }
  }

  /// Writes one message to stdout, whole and after those before it. Returns whether it could be written.
  func write(_ message: [UInt8]) async -> Bool {
    let line = LineSplitter.line(of: message)
    return await withCheckedContinuation { continuation in
      output.async { continuation.resume(returning: Terminal.out(bytes: line)) }
    }
  }
}
#endif
