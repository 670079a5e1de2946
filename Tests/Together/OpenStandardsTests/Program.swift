#if Programs
import Foundation
import HandstampCore
import HandstampTransports
import NIOCore

/// A third-party program run by a test. It exits when its standard input closes, even if the test crashes.
final class Program: Sendable {
  struct Failed: Error, CustomStringConvertible { var description: String }

  private let input: FileHandle
  let lines: AsyncStream<String>

  /// Starts the programs as copies of itself, with what takes longer to import than most tests.
  private static let fork = Result { try Fork() }

  init(_ script: String, _ arguments: [String] = []) throws {
    input = try Program.fork.get().connection()
    lines = input.lines
    try input.write(contentsOf: JSONEncoder().encode([script] + arguments) + [10])
  }

  func say(_ line: String) { try? input.write(contentsOf: Data((line + "\n").utf8)) }

  func close() { shutdown(input.fileDescriptor, Int32(SHUT_WR)) }

  deinit { close() }
}

/// `Independent/fork.py` by Debian's own Python, for which `scripts/deps` installs its packages. It ends with this process.
private struct Fork {
  private let process = Process()
  private let input = Pipe()
  private let address: SocketAddress

  init() throws {
    process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    process.arguments = ["-I", folder.appendingPathComponent("Independent/fork.py").path]
    let output = Pipe()
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    guard line.hasSuffix("/socket\n") else {
      throw Program.Failed(description: "fork.py did not start: are scripts/deps installed?")
    }
    address = try SocketAddress(unixDomainSocketPath: String(line.dropLast()))
  }

  func connection() throws -> FileHandle {
    #if canImport(Darwin)
    let kind = SOCK_STREAM
    #else
    // No other program that a test starts keeps it open.
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    #endif
    let connection = FileHandle(fileDescriptor: socket(AF_UNIX, kind, 0), closeOnDealloc: true)
    guard address.withSockAddr({ connect(connection.fileDescriptor, $0, socklen_t($1)) }) == 0 else {
      throw Program.Failed(description: "fork.py cannot be reached: error \(errno)")
    }
    return connection
  }
}

extension FileHandle {
  /// Those that can be read until its end.
  fileprivate var lines: AsyncStream<String> {
    let (lines, line) = AsyncStream.makeStream(of: String.self)
    // A dedicated thread, which may block.
    Thread.detachNewThread { [self] in
      var (held, buffer) = (Data(), [UInt8](repeating: 0, count: 4096))
      // Other than `availableData`, it survives a connection that was reset.
      while case let count = recv(fileDescriptor, &buffer, buffer.count, 0), count > 0 {
        held += buffer.prefix(count)
        while let end = held.firstIndex(of: 10) {
          line.yield(String(decoding: held[held.startIndex..<end], as: UTF8.self))
          held = Data(held[held.index(after: end)...])
        }
      }
      line.finish()
    }
    return lines
  }
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
