#if Programs
#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
@preconcurrency import Glibc
#endif
import Foundation
import HandstampCore

/// Another program in place of this one: same process, same files, same signals.
struct Replacement {
  /// The program, and what it is given; at least one.
  var command: [String]
  /// Put into its environment, and into no other's.
  var variables: [String: Secret]

  /// Becomes the program. Returns only by throwing.
  func run() throws(Refusal) {
    let name = command[0]
    var environment = inherited()
    defer { for text in environment { free(text) } }
    for (name, value) in variables {
      environment.append(value.withExposed { strdup("\(name)=\($0)") })
    }
    let arguments = command.map { strdup($0) }
    defer { for text in arguments { free(text) } }
    Inheritance.current.restore()
    var failure = ENOENT
    for path in Replacement.places(of: name) {
      _ = execve(path, arguments + [nil], environment + [nil])
      let code = errno
      if code == ENOEXEC {
        // A script without a first line that says whose it is, as a shell takes it.
        let shell = [strdup("/bin/sh"), strdup(path)]
        _ = execve("/bin/sh", shell + Array(arguments.dropFirst()) + [nil], environment + [nil])
      }
      // The next folder may have one that can be run.
      if code != ENOENT, code != ENOTDIR { failure = code }
    }
    for text in environment.suffix(variables.count) { Replacement.wipe(text) }
    throw failure == ENOENT
      ? Refusal(.notFound, "there is no program \(name)", hint: "see to its name and to PATH")
      : Refusal(
        .notRunnable, "\(name) cannot be run: \(plain(String(cString: strerror(failure))))",
        hint: "see to its mode and its kind")
  }

  /// The environment as it is, byte by byte, without what is put there anew.
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

/// What this program was started with and what the libraries in it change: the signals that are blocked or ignored, and the
/// files that are open. Another program in its place must find them as they were.
struct Inheritance: Sendable {
  private var mask = sigset_t()
  private var ignoresPipe = false
  /// Whether SIGINT was ignored or blocked.
  private(set) var takesNoInterrupt = false
  private var ignoresInterrupt = false
  private var files: Set<Int32> = []

  private static let remembered = Locked(Inheritance())
  static var current: Inheritance { remembered.withLock { $0 } }

  /// To be called first of all, on the first thread.
  static func remember() {
    var new = Inheritance()
    pthread_sigmask(SIG_BLOCK, nil, &new.mask)
    var action = sigaction()
    sigaction(SIGPIPE, nil, &action)
    new.ignoresPipe = Inheritance.isIgnored(action)
    sigaction(SIGINT, nil, &action)
    new.ignoresInterrupt = Inheritance.isIgnored(action)
    new.takesNoInterrupt = new.ignoresInterrupt || sigismember(&new.mask, SIGINT) == 1
    new.files = openFiles()
    remembered.withLock { $0 = new }
  }

  func restore() {
    var mask = mask
    pthread_sigmask(SIG_SETMASK, &mask, nil)
    signal(SIGPIPE, ignoresPipe ? SIG_IGN : SIG_DFL)
    signal(SIGINT, ignoresInterrupt ? SIG_IGN : SIG_DFL)
    for file in Inheritance.openFiles() where file > 2 && !files.contains(file) {
      _ = fcntl(file, F_SETFD, FD_CLOEXEC)
    }
  }

  private static func isIgnored(_ action: sigaction) -> Bool {
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
