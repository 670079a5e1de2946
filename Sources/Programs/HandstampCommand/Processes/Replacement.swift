#if Command
#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
@preconcurrency import Glibc
#endif
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampSupport

/// Replaces this program with another one: same process, same files, same signals.
struct Replacement {
  /// The program and its arguments; not empty.
  var command: [String]
  /// Variables added to its environment only.
  var variables: [String: Secret]

  /// Runs the program in place of this one, unless a signal asked this one to end. Returns only by throwing.
  func run() throws(CommandError) {
    Interruption.conclude()
    UnstoredRefreshes.finish()
    Inheritance.current.restore()
    try start { path, arguments, environment in
      _ = execve(path, arguments, environment)
      return errno
    }
  }

  /// Starts the program with `attempt`, which gets a path, arguments and an environment, and returns 0, or why the program does not
  /// run.
  func start(
    _ attempt: (String, [UnsafeMutablePointer<CChar>?], [UnsafeMutablePointer<CChar>?]) -> Int32
  ) throws(CommandError) {
    let name = command[0]
    var environment = inherited()
    defer { for text in environment { free(text) } }
    for (name, value) in variables {
      environment.append(value.withExposed { strdup("\(name)=\($0)") })
    }
    defer { for text in environment.suffix(variables.count) { Replacement.wipe(text) } }
    let arguments = command.map { strdup($0) }
    defer { for text in arguments { free(text) } }
    var failure = ENOENT
    for path in Replacement.places(of: name) {
      var code = attempt(path, arguments + [nil], environment + [nil])
      if code == ENOEXEC {
        // A script without a #! line: run it with sh, as shells do.
        let shell = [strdup("/bin/sh"), strdup(path)]
        defer { for text in shell { free(text) } }
        code = attempt("/bin/sh", shell + Array(arguments.dropFirst()) + [nil], environment + [nil])
      }
      if code == 0 { return }
      // A later folder in PATH may have an executable one.
      if code != ENOENT, code != ENOTDIR { failure = code }
    }
    throw failure == ENOENT
      ? CommandError(.notFound, "program not found: \(name)", hint: "check its name and PATH")
      : CommandError(
        .notRunnable, "cannot run \(name): \(plain(String(cString: strerror(failure))))",
        hint: "check its mode and its format")
  }

  /// The current environment, byte for byte, without the variables to be set.
  private func inherited() -> [UnsafeMutablePointer<CChar>?] {
    var result: [UnsafeMutablePointer<CChar>?] = []
    #if canImport(Darwin)
    var next: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = _NSGetEnviron().pointee
    #else
    var next: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = environ
    #endif
    while let place = next, let text = place.pointee {
      let name = String(
        decoding: UnsafeBufferPointer(start: text, count: strlen(text)).lazy.map { UInt8(bitPattern: $0) }
          .prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
      if variables[name] == nil { result.append(strdup(text)) }
      next = place + 1
    }
    return result
  }

  private static func places(of name: String) -> [String] {
    if name.contains("/") { return [name] }
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
    return path.split(separator: ":", omittingEmptySubsequences: false).map {
      $0.isEmpty ? "./\(name)" : "\($0)/\(name)"
    }
  }

  private static func wipe(_ text: UnsafeMutablePointer<CChar>?) {
    guard let text else { return }
    for index in 0..<strlen(text) { text[index] = 0 }
  }
}

/// A program that runs beside this one: same terminal, same files, its signals passed on.
///
/// A signal from the terminal reaches both; this process ignores it. One that is sent to this process is sent on.
struct AttendedProgram: Sendable {
  let id: pid_t

  /// The signals that a sender means for the program. The terminal sends the others to both.
  private static let passedOn = [SIGTERM, SIGHUP, SIGUSR1, SIGUSR2]

  /// Starts the program, unless a signal asked this one to end.
  init(_ command: Replacement) throws(CommandError) {
    Interruption.conclude()
    var attributes = AttendedProgram.filled(by: posix_spawnattr_init)
    defer { posix_spawnattr_destroy(&attributes) }
    var (mask, usual) = (Inheritance.current.mask, Inheritance.current.unignored)
    posix_spawnattr_setsigmask(&attributes, &mask)
    posix_spawnattr_setsigdefault(&attributes, &usual)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF))
    id = try Interruption.passOn(AttendedProgram.passedOn) { () throws(CommandError) in
      Inheritance.current.closeOtherFilesAtExec()
      var id: pid_t = 0
      try command.start { path, arguments, environment in
        posix_spawn(&id, path, nil, &attributes, arguments, environment)
      }
      return id
    }
  }

  /// Returns a value that a function of C fills. What is a structure on Linux is a pointer on macOS.
  private static func filled<Value>(by fill: (UnsafeMutablePointer<Value>) -> Int32) -> Value {
    let place = UnsafeMutablePointer<Value>.allocate(capacity: 1)
    defer { place.deallocate() }
    _ = fill(place)
    return place.move()
  }

  /// Waits for its end.
  func outcome() async -> ProgramOutcome {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { [id] in
        // Its ID belongs to it until it is waited for a second time: no signal must reach another process.
        var facts = siginfo_t()
        while waitid(P_PID, id_t(id), &facts, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        Interruption.stopPassingOn()
        var status: Int32 = 0
        while waitpid(id, &status, 0) < 0, errno == EINTR {}
        // As WIFEXITED and its like say, which are macros.
        let signal = status & 0x7F
        continuation.resume(returning: signal == 0 ? .exited((status >> 8) & 0xFF) : .killed(signal))
      }
    }
  }
}

/// How a program ended.
enum ProgramOutcome: Sendable, Hashable {
  case exited(Int32)
  case killed(Int32)

  /// Ends this process in the same way.
  func repeated() -> Never {
    switch self {
    case .exited(let status): exit(status)
    case .killed(let signal): Interruption.end(by: signal)
    }
  }
}
#endif
