#if Command
#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
@preconcurrency import Glibc
#endif
import Foundation
import Handstamp
import HandstampCore
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

/// The process state at start that libraries change: blocked and ignored signals, and open files. A program that replaces this
/// one must find them unchanged.
struct Inheritance: Sendable {
  private(set) var mask = sigset_t()
  private var ignoresPipe = false
  private(set) var ignored: Set<Int32> = []
  private var blocked: Set<Int32> = []
  /// Those of ``Interruption/signals`` that were neither ignored nor blocked.
  var taken: [Int32] { Interruption.signals.filter { !ignored.contains($0) && !blocked.contains($0) } }
  /// Whether SIGQUIT was neither.
  var takesQuit: Bool { !ignored.contains(SIGQUIT) && !blocked.contains(SIGQUIT) }
  private var files: Set<Int32> = []
  /// The number of files that were open.
  var fileCount: Int { files.count }

  private static let known = Interruption.signals + [SIGQUIT, SIGUSR1, SIGUSR2]
  private static let remembered = Locked(Inheritance())
  static var current: Inheritance { remembered.withLock { $0 } }

  /// Records the state. Call this before anything else, on the main thread.
  static func remember() {
    var new = Inheritance()
    pthread_sigmask(SIG_BLOCK, nil, &new.mask)
    new.ignoresPipe = isIgnored(SIGPIPE)
    for signal in known {
      if isIgnored(signal) { new.ignored.insert(signal) }
      if sigismember(&new.mask, signal) == 1 { new.blocked.insert(signal) }
    }
    new.files = openFiles()
    remembered.withLock { $0 = new }
  }

  func restore() {
    var mask = mask
    pthread_sigmask(SIG_SETMASK, &mask, nil)
    signal(SIGPIPE, ignoresPipe ? SIG_IGN : SIG_DFL)
    for number in Interruption.signals { signal(number, ignored.contains(number) ? SIG_IGN : SIG_DFL) }
    closeOtherFilesAtExec()
  }

  /// The signals whose handling libraries or this program may have changed, and that were not ignored at start.
  var unignored: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for number in Inheritance.known where !ignored.contains(number) { sigaddset(&set, number) }
    if !ignoresPipe { sigaddset(&set, SIGPIPE) }
    return set
  }

  /// Keeps files of libraries from another program.
  func closeOtherFilesAtExec() {
    for file in Inheritance.openFiles() where file > 2 && !files.contains(file) {
      _ = fcntl(file, F_SETFD, FD_CLOEXEC)
    }
  }

  /// Whether this process ignores a signal now.
  static func isIgnored(_ signal: Int32) -> Bool {
    var action = sigaction()
    sigaction(signal, nil, &action)
    #if canImport(Darwin)
    let handler = action.__sigaction_u.__sa_handler
    #else
    let handler = action.__sigaction_handler.sa_handler
    #endif
    return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  private static func openFiles() -> Set<Int32> {
    Set((try? FileManager.default.contentsOfDirectory(atPath: "/dev/fd"))?.compactMap { Int32($0) } ?? [])
  }
}
#endif
