#if Command
import Foundation
package import HandstampCore

/// A file with a secret, readable by its owner only.
package enum SecretFile {
  /// Returns the secret in the first line.
  ///
  /// - Parameters:
  ///   - name: The variable or option that named the file.
  ///   - code: The exit code if the file cannot be used.
  package static func firstLine(of path: String, for name: String, code: ExitReason) throws(CommandError) -> Secret {
    try read(path, for: name, code: code, isLine: true)
  }

  /// Returns the whole file, such as a key in PEM.
  package static func content(of path: String, for name: String, code: ExitReason) throws(CommandError) -> Secret {
    try read(path, for: name, code: code, isLine: false)
  }

  private static func read(
    _ path: String, for name: String, code: ExitReason, isLine: Bool
  ) throws(CommandError) -> Secret {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw CommandError(code, "\(name): cannot read \(path)", hint: "use a file that you can read")
    }
    defer { close(descriptor) }
    // A pipe, as of <(pass show vault), has no mode that means anything.
    if let facts = FileFacts(URL(fileURLWithPath: path).resolvingSymlinksInPath().path), facts.isRegular,
      facts.mode & 0o077 != 0
    {
      throw CommandError(code, "\(name): \(path) is readable by other users", hint: "run: chmod 600 \(path)")
    }
    let (secret, isCut) = read(from: descriptor, limit: 2048, isLine: isLine)
    guard !isCut else {
      throw CommandError(
        code, "\(name): \(isLine ? "the first line of " : "")\(path) is too long",
        hint: "use a secret of at most 2047 bytes")
    }
    guard !secret.isEmpty else {
      throw CommandError(code, "\(name): \(path) is empty", hint: "put the secret in its first line")
    }
    return secret
  }

  /// Reads the first line, or all, and leaves no other copy of it. Also returns whether `limit` bytes were too few.
  static func read(from descriptor: Int32, limit: Int, isLine: Bool) -> (Secret, isCut: Bool) {
    var bytes = [UInt8](repeating: 0, count: limit)
    defer { for index in bytes.indices { bytes[index] = 0 } }
    var count = 0
    while count < limit, !isLine || !bytes[..<count].contains(10) {
      let new = bytes[count...].withUnsafeMutableBytes { Foundation.read(descriptor, $0.baseAddress, $0.count) }
      guard new > 0 else { break }
      count += new
    }
    var text = bytes[..<count].prefix { !isLine || $0 != 10 }
    let isCut = text.count == limit
    if text.last == 13 { text.removeLast() }
    return (Secret(bytes: text), isCut)
  }
}
#endif
