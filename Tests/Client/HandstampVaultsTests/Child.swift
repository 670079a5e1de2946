import Foundation

/// A process started by a test: the probe, or a program that starts it. Waiting for it blocks a dedicated thread, because
/// tests share only a few.
// Unchecked: used by a single test, which waits for one thing at a time.
final class Child: @unchecked Sendable {
  private let process = Process()
  var id: Int32 { process.processIdentifier }
  private let output = Pipe()
  private let input = Pipe()

  /// The program `VaultProbe`, built beside the tests.
  static let probe = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    .deletingLastPathComponent().appendingPathComponent("VaultProbe").path

  init(_ arguments: [String], environment: [String: String] = [:]) throws {
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardOutput = output
    process.standardInput = input
    try process.run()
  }

  /// The probe, on `folder`.
  convenience init(_ folder: String, _ command: String..., environment: [String: String] = [:]) throws {
    try self.init([Child.probe, folder] + command, environment: environment)
  }

  /// Waits for the process to exit, and returns its output.
  func end() async throws -> String {
    try input.fileHandleForWriting.close()
    return await apart { [self] in
      let data = (try? output.fileHandleForReading.readToEnd()) ?? Data()
      process.waitUntilExit()
      return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .newlines)
    }
  }

  /// Waits until it has printed `text`.
  func wait(for text: String) async -> Bool { await output { $0.contains(text) } != nil }

  /// Waits until it has printed a line that begins so, and returns that.
  func line(beginning start: String) async -> String? {
    await output { $0.hasPrefix(start) && $0.contains("\n") }.map { String($0.prefix { $0 != "\n" }) }
  }

  /// Returns what it has printed once that is enough; `nil` if it ends before.
  private func output(_ isEnough: @escaping @Sendable (String) -> Bool) async -> String? {
    await apart { [self] in
      var seen = ""
      while !isEnough(seen) {
        let data = output.fileHandleForReading.availableData
        if data.isEmpty { return nil }
        seen += String(decoding: data, as: UTF8.self)
      }
      return seen
    }
  }

  /// Sends SIGKILL, and waits until the kernel has released the process's resources.
  func kill() async {
    Foundation.kill(process.processIdentifier, SIGKILL)
    await apart { [self] in process.waitUntilExit() }
  }

  /// Waits until the process has stopped itself. Returns `false` if it exits instead.
  func stops() async -> Bool {
    await apart { [self] in
      var info = siginfo_t()
      while waitid(P_PID, id_t(id), &info, WSTOPPED) != 0 { if errno != EINTR { return false } }
      return true
    }
  }

  /// Continues the process after it has stopped itself.
  func resume() { Foundation.kill(process.processIdentifier, SIGCONT) }

  var wasKilled: Bool {
    process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL
  }

  var status: Int32 { process.terminationStatus }

  /// Runs a program until it exits.
  static func succeeds(_ arguments: String...) async -> Bool {
    guard let child = try? Child(arguments), (try? await child.end()) != nil else { return false }
    return child.status == 0
  }
}

private func apart<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
  await withCheckedContinuation { continuation in
    Thread.detachNewThread { continuation.resume(returning: body()) }
  }
}
