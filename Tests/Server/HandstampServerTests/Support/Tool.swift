#if Programs
import Foundation
import HandstampSupport
import HandstampTesting

/// A program of the system, such as curl: a counterpart that shares no code with the server.
enum Tool {
  struct Outcome: Sendable {
    var status: Int32
    var output: [UInt8]
    var text: String { String(decoding: output, as: UTF8.self) }
  }

  /// Runs a program to its end, at most four minutes.
  ///
  /// - Parameters:
  ///   - input: what it reads.
  ///   - isEnough: whether the program can be stopped, given its output so far; `nil` waits for its end.
  static func run(
    _ arguments: [String], input: [UInt8] = [], until isEnough: (@Sendable ([UInt8]) -> Bool)? = nil
  ) async throws -> Outcome {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    let (standardInput, standardOutput) = (Pipe(), Pipe())
    process.standardInput = standardInput
    process.standardOutput = standardOutput
    process.standardError = FileHandle.nullDevice
    try process.run()
    // Not a signal that Dispatch's threads block, and with them their children.
    let id = process.processIdentifier
    let watchdog = DispatchWorkItem { kill(id, SIGKILL) }
    DispatchQueue.global().asyncAfter(deadline: .now() + 240, execute: watchdog)
    let collected = Locked<[UInt8]>([])
    async let isRead: Void = read(standardOutput, into: collected)
    try? standardInput.fileHandleForWriting.write(contentsOf: Data(input))
    if let isEnough {
      _ = await eventually { !process.isRunning || isEnough(collected.withLock { $0 }) }
      kill(id, SIGKILL)
    }
    try? standardInput.fileHandleForWriting.close()
    await isRead
    process.waitUntilExit()
    watchdog.cancel()
    return Outcome(status: process.terminationStatus, output: collected.withLock { $0 })
  }

  private static func read(_ pipe: Pipe, into collected: Locked<[UInt8]>) async {
    await withCheckedContinuation { continuation in
      // Blocking calls, on a thread where they are allowed.
      Thread.detachNewThread {
        while case let data = pipe.fileHandleForReading.availableData, !data.isEmpty {
          collected.withLock { $0 += data }
        }
        continuation.resume()
      }
    }
  }

  /// Runs `body` in a folder of its own.
  static func inFolder<Value>(_ body: (String) async throws -> Value) async throws -> Value {
    let folder = FileManager.default.temporaryDirectory.appending(path: "hs-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder.path)
  }

  /// Makes a certificate of `127.0.0.1` and its key: `NAME.pem` and `NAME.key`.
  static func makeCertificate(_ name: String, in folder: String) async throws {
    let outcome = try await run([
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
      "-subj",
      "/CN=\(name)", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "\(folder)/\(name).key", "-out",
      "\(folder)/\(name).pem",
    ])
    guard outcome.status == 0 else { throw Failed(status: outcome.status) }
  }

  struct Failed: Error { var status: Int32 }
}
#endif
