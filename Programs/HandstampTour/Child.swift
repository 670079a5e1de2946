#if Operator && DEBUG
import Foundation
import HandstampCore

@testable import HandstampCommand
@testable import HandstampCommandLine

/// A process running `handstamp`, `handstamp-server`, or another program of this package.
final class Child: Sendable {
  /// The result of the process.
  struct Outcome: Sendable {
    /// The program's name, with which its refusals begin.
    var program: String
    /// The exit code, or 128 plus the signal number.
    var status: Int32
    var out: String
    var words: String
  }

  private let process: Process
  private let input: FileHandle
  private let ended = OneShot<Outcome>()
  private let firstLine = OneShot<String>()

  /// Starts the program with these arguments.
  ///
  /// - Parameters:
  ///   - program: The program's name; `nil` is that of the two which has the command.
  ///   - folder: Its working directory; `nil` for that of this program.
  ///   - variables: Added to the environment, from which this program's own variables and those of a desktop are removed.
  ///   - input: Its standard input; if `nil`, standard input stays open as long as this object lives.
  ///   - terminal: A terminal to use as its standard input instead.
  ///   - log: A file for its standard error, instead of the outcome.
  ///   - screen: A terminal for its standard error, instead of the outcome.
  init(
    program: String? = nil, _ arguments: [String], in folder: String? = nil, variables: [String: String] = [:],
    input: String? = nil, terminal: FileHandle? = nil, log: String? = nil, screen: FileHandle? = nil
  ) throws {
    process = Process()
    let name = program ?? Child.program(of: arguments)
    process.executableURL = URL(fileURLWithPath: try Child.path(of: name))
    process.arguments = arguments
    if let folder { process.currentDirectoryURL = URL(fileURLWithPath: folder, isDirectory: true) }
    // Without a desktop, whose own secret store would otherwise get the keys of tests.
    let desktop = ["DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_TTY"]
    var environment = ProcessInfo.processInfo.environment.filter {
      !$0.key.hasPrefix("HANDSTAMP_") && !desktop.contains($0.key)
    }
    environment.merge(variables) { $1 }
    process.environment = environment
    let (stdin, stdout, stderr) = (Pipe(), Pipe(), Pipe())
    if let terminal { process.standardInput = terminal } else { process.standardInput = stdin }
    process.standardOutput = stdout
    if let screen {
      process.standardError = screen
    } else if let log {
      _ = FileManager.default.createFile(atPath: log, contents: nil, attributes: [.posixPermissions: 0o600])
      guard let handle = FileHandle(forWritingAtPath: log) else { throw TourFailure("cannot write \(log)") }
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
    try Child.withUsualSignals { [process] in try process.run() }
    if let input {
      try? self.input.write(contentsOf: Data(input.utf8))
      try? self.input.close()
    }
    Task { [ended] in
      let code = try await status.value()
      let text = try await out.value()
      ended.set(Outcome(program: name, status: code, out: text, words: try await words?.value() ?? ""))
    }
  }

  deinit { send(SIGKILL) }

  var id: Int32 { process.processIdentifier }

  /// Waits for the process to end, and returns its result.
  func outcome() async throws -> Outcome { try await ended.value() }

  /// Waits for the first line of its output; empty if it ends without one.
  func line() async throws -> String { try await firstLine.value() }

  func send(_ signal: Int32) { if process.isRunning { kill(process.processIdentifier, signal) } }

  /// Starts a process by `body` with the usual signals, which it inherits: Dispatch's threads block most of them, and a shell has
  /// its background jobs ignore these.
  static func withUsualSignals(_ body: () throws -> Void) rethrows {
    // A handler that does nothing keeps this process alive, too, and no program that it starts inherits it.
    for number in [SIGHUP, SIGINT, SIGQUIT] where Inheritance.isIgnored(number) { _ = signal(number) { _ in } }
    var none = sigset_t()
    var previous = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, &previous)
    defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
    try body()
  }

  /// The program that has the command.
  private static func program(of arguments: [String]) -> String {
    arguments.first.flatMap(OperatorsCommand.init(rawValue:)) == nil ? "handstamp" : "handstamp-server"
  }

  /// The path of a program of this package, which is beside this one, or beside the test bundle.
  static func path(of program: String = "handstamp") throws -> String {
    let bundles = Bundle.allBundles.map(\.bundleURL).filter { $0.pathExtension == "xctest" }
    guard let own = bundles.first ?? Bundle.main.executableURL else {
      throw TourFailure("cannot find this program's executable")
    }
    return own.deletingLastPathComponent().appendingPathComponent(program).path
  }

  /// Reads all of `pipe`, on a dedicated thread because reading blocks.
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
      // The object that holds the pipe may live much longer.
      try? handle.close()
      firstLine?.set("")
      all.set(String(decoding: bytes, as: UTF8.self))
    }
    return all
  }
}
#endif
