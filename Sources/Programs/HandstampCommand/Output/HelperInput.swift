#if Command
import Foundation
import HandstampCommandLine
import HandstampSupport

/// The request of another program: a few hundred bytes, or something else altogether.
enum HelperInput {
  /// In bytes.
  static let limit = 1 << 20

  private static let tooMuch = CommandError(
    .usage, "more than 1 MiB on stdin", hint: "let the program run handstamp itself, or pipe in its request alone")

  /// Returns all of it.
  static func all() throws(CommandError) -> String {
    var bytes: [UInt8] = []
    while let new = next() {
      bytes += new
      guard bytes.count <= limit else { throw tooMuch }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Its lines, each as soon as it is complete.
  struct Lines {
    private var rest: [UInt8] = []

    /// Returns the next line without its end; `nil` if there are no more.
    mutating func next() throws(CommandError) -> String? {
      while true {
        if let end = rest.firstIndex(of: 10) {
          defer { rest.removeSubrange(...end) }
          return String(decoding: rest[..<end], as: UTF8.self)
        }
        guard rest.count <= limit else { throw tooMuch }
        guard let new = HelperInput.next() else {
          guard rest.isEmpty else { throw HelperInput.isCut }
          return nil
        }
        rest += new
      }
    }
  }

  /// Half a line may name another host than the whole one.
  static let isCut = CommandError(
    .usage, "stdin ends within a line", hint: "end each line of the request with a line break")

  /// Returns the next bytes; `nil` at the end. Blocks.
  static func next() -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(STDIN_FILENO, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      return count > 0 ? Array(buffer.prefix(count)) : nil
    }
  }
}
#endif
