#if Command
#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
@preconcurrency import Glibc
#endif
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampSupport

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
