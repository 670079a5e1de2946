import Foundation
import Synchronization

/// A process that a test started: the probe, or a program that starts it.
final class Child {
  private let process = Process()
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

  /// Waits for the end, and hands out all that it printed.
  func end() throws -> String {
    try input.fileHandleForWriting.close()
    let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    return text.trimmingCharacters(in: .newlines)
  }

  /// Waits until it has printed `text`.
  func wait(for text: String) -> Bool {
    var seen = ""
    while !seen.contains(text) {
      let data = output.fileHandleForReading.availableData
      if data.isEmpty { return false }
      seen += String(decoding: data, as: UTF8.self)
    }
    return true
  }

  /// SIGKILL, and waits until the kernel has taken back what it held.
  func kill() {
    Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  var wasKilled: Bool {
    process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL
  }

  var status: Int32 { process.terminationStatus }

  /// Runs a program to its end: what it printed, and whether it succeeded.
  static func run(_ arguments: String...) -> (output: String, succeeded: Bool) {
    guard let child = try? Child(arguments), let output = try? child.end() else { return ("", false) }
    return (output, child.status == 0)
  }
}
