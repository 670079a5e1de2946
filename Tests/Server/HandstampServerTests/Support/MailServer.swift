#if Programs
import Foundation
import HandstampSupport

/// A mail server that shares no code with ours: aiosmtpd, in Debian's own Python, for which `scripts/deps` installs it.
final class MailServer: Sendable {
  struct Silent: Error {}

  let port: Int
  private let process: Process
  private let input: Pipe
  private let lines: AsyncStream<String>

  /// Runs `body` with a server of its own, and stops it.
  ///
  /// - Parameter options: of `smtp.py`, a JSON object.
  static func run(_ options: String = "{}", _ body: (MailServer) async throws -> Void) async throws {
    let server = try await MailServer(options)
    defer { server.stop() }
    try await body(server)
  }

  private init(_ options: String) async throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    process.arguments = ["-I", folder.appendingPathComponent("Independent/smtp.py").path, options]
    let (input, output) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let (lines, continuation) = AsyncStream.makeStream(of: String.self)
    // A thread of its own, which may block.
    Thread.detachNewThread {
      var rest = Data()
      while case let data = output.fileHandleForReading.availableData, !data.isEmpty {
        rest += data
        while let end = rest.firstIndex(of: 10) {
          continuation.yield(String(decoding: rest[..<end], as: UTF8.self))
          rest = Data(rest[rest.index(after: end)...])
        }
      }
      continuation.finish()
    }
    (self.process, self.input, self.lines) = (process, input, lines)
    guard let first = await lines.first(where: { _ in true }), let port = Int(first) else { throw Silent() }
    self.port = port
  }

  /// The next mail that it accepted.
  func next() async throws -> WireClient.JSON {
    guard let line = await lines.first(where: { _ in true }),
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
    else { throw Silent() }
    return WireClient.JSON(object)
  }

  private func stop() {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }
}
#endif
