#if Programs
import Foundation
import HandstampCore

/// A process of this very program.
final class Child: Sendable {
  /// How it ended.
  struct Outcome: Sendable {
    /// The exit code, or 128 and the signal's number.
    var status: Int32
    var out: String
    var words: String
  }

  private let process: Process
  private let input: FileHandle
  private let ended = OneShot<Outcome>()
  private let firstLine = OneShot<String>()

  /// Starts `handstamp` with these arguments.
  ///
  /// - Parameters:
  ///   - folder: where it runs; nothing for where this program does.
  ///   - variables: added to the environment; everything of the program's own is taken out of it before.
  ///   - input: what it reads. Without any, its standard input stays open for as long as this object lives.
  ///   - terminal: what it reads from instead.
  ///   - log: where its standard error goes, instead of into the outcome.
  ///   - screen: the same, where it is a terminal.
  init(
    _ arguments: [String], in folder: String? = nil, variables: [String: String] = [:], input: String? = nil,
    terminal: FileHandle? = nil, log: String? = nil, screen: FileHandle? = nil
  ) throws {
    process = Process()
    process.executableURL = URL(fileURLWithPath: try Child.program())
    process.arguments = arguments
    if let folder { process.currentDirectoryURL = URL(fileURLWithPath: folder, isDirectory: true) }
    var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("HANDSTAMP_") }
    environment.merge(variables) { $1 }
    process.environment = environment
    let (stdin, stdout, stderr) = (Pipe(), Pipe(), Pipe())
    if let terminal { process.standardInput = terminal } else { process.standardInput = stdin }
    process.standardOutput = stdout
    if let screen {
      process.standardError = screen
    } else if let log {
      _ = FileManager.default.createFile(atPath: log, contents: nil, attributes: [.posixPermissions: 0o600])
      guard let handle = FileHandle(forWritingAtPath: log) else { throw TourFailure("\(log) cannot be written") }
      process.standardError = handle
    } else {
      process.standardError = stderr
    }
    self.input = stdin.fileHandleForWriting
    let (out, words) = (
      Child.reading(stdout, firstLine: firstLine), log == nil && screen == nil ? Child.reading(stderr) : nil
    )
    let status = OneShot<Int32>()
    process.terminationHandler = { process in
      status.set(
        process.terminationReason == .uncaughtSignal ? 128 + process.terminationStatus : process.terminationStatus)
    }
    try Child.withoutBlockedSignals { [process] in try process.run() }
    if let input {
      try? self.input.write(contentsOf: Data(input.utf8))
      try? self.input.close()
    }
    Task { [ended] in
      let code = try await status.value()
      let text = try await out.value()
      ended.set(Outcome(status: code, out: text, words: try await words?.value() ?? ""))
    }
  }

  deinit { send(SIGKILL) }

  var id: Int32 { process.processIdentifier }

  /// How it ends, once it has.
  func outcome() async throws -> Outcome { try await ended.value() }

  /// The first line that it prints; empty when it ends without one.
  func line() async throws -> String { try await firstLine.value() }

  func send(_ signal: Int32) { if process.isRunning { kill(process.processIdentifier, signal) } }

  /// Dispatch's threads block most signals, and whatever is started on one inherits that.
  static func withoutBlockedSignals(_ body: () throws -> Void) rethrows {
    var none = sigset_t()
    var former = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, &former)
    defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
    try body()
  }

  /// This program's own file; in a test it stands beside the test's.
  static func program() throws -> String {
    let bundles = Bundle.allBundles.map(\.bundleURL).filter { $0.pathExtension == "xctest" }
    let own = bundles.first ?? Bundle.main.executableURL
    guard let own else { throw TourFailure("the program's own file cannot be found") }
    guard own.pathExtension == "xctest" else { return own.path }
    return own.deletingLastPathComponent().appendingPathComponent("handstamp").path
  }

  /// Everything that comes out of `pipe`. On a thread of its own, which may block.
  private static func reading(_ pipe: Pipe, firstLine: OneShot<String>? = nil) -> OneShot<String> {
    let all = OneShot<String>()
    let handle = pipe.fileHandleForReading
    Thread.detachNewThread {
      var bytes = Data()
      while case let data = handle.availableData, !data.isEmpty {
        bytes += data
        if let firstLine, let end = bytes.firstIndex(of: 10) {
          firstLine.set(String(decoding: bytes[..<end], as: UTF8.self))
        }
      }
      // The object that holds it may live on for long.
      try? handle.close()
      firstLine?.set("")
      all.set(String(decoding: bytes, as: UTF8.self))
    }
    return all
  }
}
#endif
