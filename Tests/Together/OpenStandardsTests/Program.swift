#if Programs
import Foundation
import HandstampCore
import HandstampTransports

/// A third-party program run by a test. It exits when its standard input closes, even if the test crashes.
final class Program: Sendable {
  struct Failed: Error, CustomStringConvertible { var description: String }

  private let process: Process
  private let input: Pipe
  let lines: AsyncStream<String>

  /// Debian's own Python, for which `scripts/deps` installs its packages.
  private static let python = "/usr/bin/python3"

  init(_ script: String, _ arguments: [String] = []) throws {
    process = Process()
    process.executableURL = URL(fileURLWithPath: Program.python)
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Independent")
    process.arguments = ["-I", folder.appendingPathComponent(script).path] + arguments
    input = Pipe()
    let output = Pipe()
    process.standardInput = input
    process.standardOutput = output
    let (lines, line) = AsyncStream.makeStream(of: String.self)
    self.lines = lines
    try process.run()
    let handle = output.fileHandleForReading
    // A dedicated thread, which may block.
    Thread.detachNewThread {
      var held = Data()
      while case let data = handle.availableData, !data.isEmpty {
        held += data
        while let end = held.firstIndex(of: 10) {
          line.yield(String(decoding: held[held.startIndex..<end], as: UTF8.self))
          held = Data(held[held.index(after: end)...])
        }
      }
      line.finish()
    }
  }

  func say(_ line: String) { try? input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

  func close() { try? input.fileHandleForWriting.close() }
}

/// An independent OAuth server, on its own port.
struct IndependentServer: Sendable {
  let url: String

  static func run<Value>(
    _ arguments: [String] = [], script: String = "server.py", _ body: (IndependentServer) async throws -> Value
  ) async throws -> Value {
    let program = try Program(script, arguments)
    defer { program.close() }
    for await url in program.lines { return try await body(IndependentServer(url: url)) }
    throw Program.Failed(description: "the independent server did not start: are scripts/deps installed?")
  }

  /// Sends the responses of refreshes that the server holds, and no longer holds any.
  func release() async throws {
    _ = try await AsyncHTTPTransport.shared.send(TransportRequest(method: "POST", url: url + "/release"))
  }
}
#endif
