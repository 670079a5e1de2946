#if Programs
import Foundation

/// An external program, run until it exits.
struct Program {
  var path: String
  var arguments: [String]
  /// The whole environment of the process.
  var environment: [String: String] = [:]
  var input = ""

  init(_ path: String, _ arguments: String...) {
    self.path = path
    self.arguments = arguments
  }

  struct End {
    var code: Int32
    var output: String
    /// From the start of the process until the end of its output, which is when it exits.
    var time: Duration
  }

  func run() throws -> End {
    let process = Process()
    let (input, output) = (Pipe(), Pipe())
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.environment = environment
    process.standardInput = input
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    let start = ContinuousClock.now
    try process.run()
    try input.fileHandleForWriting.write(contentsOf: Data(self.input.utf8))
    try input.fileHandleForWriting.close()
    // The end of the output is noticed at once; `waitUntilExit` only polls.
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    let time = ContinuousClock.now - start
    process.waitUntilExit()
    return End(code: process.terminationStatus, output: String(decoding: data, as: UTF8.self), time: time)
  }
}
#endif
