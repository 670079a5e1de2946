#if Programs
import Foundation
import HandstampVerifier

/// Measures by how much a process grows while its verifier receives revoked sessions, peak included: in a process of its own, which
/// has done nothing else.
enum RevocationMemory {
  /// Prints the growth in bytes, and the seconds it took. The process's own part of the measurement.
  static func report(_ count: Int) async throws {
    try await FedVerifier.run { fed in
      // Whatever the first blocks load and initialize.
      await fed.revoke(0..<1024)
      let before = Machine.memory("VmRSS")
      // Resets the peak.
      try? "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
      let time = await Timing.once { await fed.revoke(1024..<count) }
      guard fed.verifier.feedStatus?.sessions == count else { throw BenchError("sessions are missing") }
      FileHandle.standardOutput.write(Data("\(Machine.memory("VmHWM") - before) \(time / .seconds(1))\n".utf8))
    }
  }

  /// Returns the growth in MB, and the sessions per second.
  static func measure(_ count: Int) throws -> (growth: Double, rate: Double) {
    let process = Process()
    process.executableURL = Bundle.main.executableURL
    process.arguments = ["--memory-of-revocations", "\(count)"]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
    guard process.terminationStatus == 0, numbers.count == 2, numbers[1] > 0 else {
      throw BenchError("the memory of revocations cannot be measured")
    }
    return (numbers[0] / 1_048_576, Double(count) / numbers[1])
  }
}
#endif
