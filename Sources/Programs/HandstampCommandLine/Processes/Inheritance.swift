#if Command
#if canImport(Darwin)
package import Darwin
#elseif canImport(Glibc)
@preconcurrency package import Glibc
#endif
import Foundation
import HandstampSupport

/// The process state at start that libraries change: blocked and ignored signals, and open files. A program that replaces this
/// one must find them unchanged.
package struct Inheritance: Sendable {
  package private(set) var mask = sigset_t()
  private var ignoresPipe = false
  package private(set) var ignored: Set<Int32> = []
  private var blocked: Set<Int32> = []
  /// Those of ``endings`` that were neither ignored nor blocked.
  package var taken: [Int32] { Inheritance.endings.filter { !ignored.contains($0) && !blocked.contains($0) } }
  /// Whether SIGQUIT was neither.
  package var takesQuit: Bool { !ignored.contains(SIGQUIT) && !blocked.contains(SIGQUIT) }
  private var files: Set<Int32> = []
  /// The number of files that were open.
  package var fileCount: Int { files.count }

  /// The signals that ask a program to end: Ctrl-C; `kill`, `timeout` and service managers; a terminal or a connection that was closed.
  package static let endings = [SIGINT, SIGTERM, SIGHUP]

  private static let known = endings + [SIGQUIT, SIGUSR1, SIGUSR2]
  private static let remembered = Locked(Inheritance())
  package static var current: Inheritance { remembered.withLock { $0 } }

  /// Records the state. Call this before anything else, on the main thread.
  package static func remember() {
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

  package func restore() {
    var mask = mask
    pthread_sigmask(SIG_SETMASK, &mask, nil)
    signal(SIGPIPE, ignoresPipe ? SIG_IGN : SIG_DFL)
    for number in Inheritance.endings { signal(number, ignored.contains(number) ? SIG_IGN : SIG_DFL) }
    closeOtherFilesAtExec()
  }

  /// The signals whose handling libraries or this program may have changed, and that were not ignored at start.
  package var unignored: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for number in Inheritance.known where !ignored.contains(number) { sigaddset(&set, number) }
    if !ignoresPipe { sigaddset(&set, SIGPIPE) }
    return set
  }

  /// Keeps files of libraries from another program.
  package func closeOtherFilesAtExec() {
    for file in Inheritance.openFiles() where file > 2 && !files.contains(file) {
      _ = fcntl(file, F_SETFD, FD_CLOEXEC)
    }
  }

  /// Whether this process ignores a signal now.
  package static func isIgnored(_ signal: Int32) -> Bool {
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
