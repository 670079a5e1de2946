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

/// Splits a byte stream into messages, one a line (Model Context Protocol, stdio transport). Empty lines are skipped.
struct LineSplitter: Sendable, Hashable {
  enum Line: Sendable, Hashable {
    /// Without the line feed, and without a carriage return before it.
    case message([UInt8])
    /// A line that is longer than the limit. Its bytes are dropped.
    case tooLong
  }

  /// In bytes.
  private let limit: Int
  private var part: [UInt8] = []
  private var isTooLong = false

  init(limit: Int) { self.limit = limit }

  /// Returns the lines that end in `bytes`.
  mutating func lines(in bytes: [UInt8]) -> [Line] {
    var lines: [Line] = []
    var rest = bytes[...]
    while let end = rest.firstIndex(of: 10) {
      add(rest[..<end])
      if let line = finished() { lines.append(line) }
      rest = rest[(end + 1)...]
    }
    add(rest)
    return lines
  }

  /// Returns the last line, if it has no line feed, after the end of the stream.
  mutating func finished() -> Line? {
    defer { (part, isTooLong) = ([], false) }
    if isTooLong { return .tooLong }
    if part.last == 13 { part.removeLast() }
    return part.allSatisfy(LineSplitter.isSpace) ? nil : .message(part)
  }

  private mutating func add(_ bytes: ArraySlice<UInt8>) {
    guard !isTooLong else { return }
    guard part.count + bytes.count <= limit else { return (part, isTooLong) = ([], true) }
    part += bytes
  }

  /// Returns a message as one line. A line break in JSON is only ever between two tokens, where it is as good as a
  /// space (RFC 8259 sections 2 and 7).
  static func line(of message: [UInt8]) -> [UInt8] {
    var line = message
    for index in line.indices where line[index] == 10 || line[index] == 13 { line[index] = 32 }
    line.append(10)
    return line
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 || byte == 13 }
}
#endif
