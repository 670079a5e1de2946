#if Command
import Dispatch
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampSupport

/// Handles the signals that ask the program to end, during a refresh at a server without rotation keys and during the request that
/// begins a session: the first one lets the request finish and its response be stored, for at most ``UnstoredRefreshes/limit``; a second
/// one ends the program at once. Either way, the program ends by the first signal, as its parent expects.
enum Interruption {
  /// `timeout` and service managers send two signals at once, which count as one.
  private static let doubled = Duration.milliseconds(500)

  private static let first = Locked<(signal: Int32, time: ContinuousClock.Instant)?>(nil)

  private static let last = Locked<[@Sendable () -> Void]>([])

  /// Has `work` done right before a signal ends the program, such as removing a socket.
  static func beforeEnd(_ work: @escaping @Sendable () -> Void) { last.withLock { $0.append(work) } }

  private static let handlers: Void = {
    for number in Inheritance.current.taken { take(number) }
    UnstoredRefreshes.atExit { trouble in
      let reason = trouble.map { ": \(CommandError($0).message)" } ?? ""
      Terminal.say("waiting for at most \(UnstoredRefreshes.limit.words) until the new tokens are stored\(reason)")
    } lost: { trouble in
      let refusal = CommandError(unstored: trouble)
      Terminal.say(refusal)
      _exit(refusal.exit.rawValue)
    }
  }()

  /// Has a signal handled here. One that arrives before `isTaken` is balanced is lost.
  private static func take(_ number: Int32, isTaken: DispatchGroup? = nil) {
    isTaken?.enter()
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
    // Its handler keeps it alive as long as the program runs.
    source.setEventHandler { withExtendedLifetime(source) { happened(number) } }
    if let isTaken { source.setRegistrationHandler { isTaken.leave() } }
    source.resume()
  }

  private static let ending = Locked(Inheritance.endings)

  /// Has SIGQUIT end the program as the other signals do, where something has to be removed. Swift's runtime would report a crash.
  static func takeQuit() {
    guard Inheritance.current.takesQuit else { return }
    ending.withLock { $0.append(SIGQUIT) }
    take(SIGQUIT)
  }

  /// Installs the handlers, and has an exit that loses a session say so. Call this before such a request can start. Signals that
  /// were ignored or blocked when the program started stay so.
  static func arrange() { _ = handlers }

  /// The program that signals are meant for, while this one attends it.
  private enum Attended {
    case none
    /// It is about to start, and gets these then.
    case starting([Int32])
    case running(pid_t)
  }
  private static let attended = Locked(Attended.none)

  /// Starts a program, and sends these signals on to it, also those that arrive before it has started. Others that end a process are
  /// ignored here: the terminal sends them to both.
  static func passOn(
    _ signals: [Int32], to start: () throws(CommandError) -> pid_t
  ) throws(CommandError) -> pid_t {
    arrange()
    attended.withLock { $0 = .starting([]) }
    let areTaken = DispatchGroup()
    let others = ([SIGQUIT] + signals).filter { !Inheritance.endings.contains($0) }
    for number in others where !Inheritance.current.ignored.contains(number) {
      signal(number, SIG_IGN)
      if signals.contains(number) { take(number, isTaken: areTaken) }
    }
    areTaken.wait()
    let program: pid_t
    do { program = try start() } catch {
      for number in leave(for: .none) { happened(number) }
      throw error
    }
    for number in leave(for: .running(program)) { kill(program, number) }
    return program
  }

  /// The program has ended.
  static func stopPassingOn() { _ = leave(for: .none) }

  /// Returns the signals that nobody has got.
  private static func leave(for next: Attended) -> [Int32] {
    attended.withLock { attended in
      defer { attended = next }
      guard case .starting(let early) = attended else { return [] }
      return early
    }
  }

  /// Ends the program if a signal asked for it. Call this before it exits or becomes another program.
  static func conclude() {
    guard let signal = first.withLock({ $0?.signal }) else { return }
    UnstoredRefreshes.close(within: UnstoredRefreshes.limit)
    end(by: signal)
  }

  /// A reader of stderr that has stopped reading must not keep the program from its end.
  private static func sayBriefly(_ words: @escaping @Sendable () -> Void) {
    let isSaid = DispatchSemaphore(value: 0)
    DispatchQueue.global().async {
      words()
      isSaid.signal()
    }
    _ = isSaid.wait(timeout: .now() + 1)
  }

  private static func happened(_ signal: Int32) {
    let isPassedOn = attended.withLock { attended in
      switch attended {
      case .none: return false
      case .starting(let early): attended = .starting(early + [signal])
      // Ctrl-C has reached it already. It exists until `stopPassingOn`, which waits for this lock.
      case .running(let program): if signal != SIGINT { kill(program, signal) }
      }
      return true
    }
    if isPassedOn { return }
    // Meant for a program that has ended just now, as this one is about to.
    guard ending.withLock({ $0.contains(signal) }) else { return }
    let now = ContinuousClock.now
    let previous = first.withLock { first in
      defer { first = first ?? (signal, now) }
      return first
    }
    if let previous {
      if now - previous.time > doubled { end(by: previous.signal) }
      return
    }
    // A message to a pipe without a reader must not end the program.
    Foundation.signal(SIGPIPE, SIG_IGN)
    // Another signal must find the queue of its source free.
    DispatchQueue.global().async {
      if !UnstoredRefreshes.close(within: .zero) {
        let limit = UnstoredRefreshes.limit
        let again = signal == SIGINT ? "press Ctrl-C again" : "send another signal"
        sayBriefly {
          Terminal.say(
            "finishing a request so that the session is not lost, for at most \(limit.words); \(again) to quit now")
        }
        UnstoredRefreshes.close(within: limit)
      }
      end(by: signal)
    }
  }

  /// A core file would have the tokens in it.
  private static func leaveNoCore() {
    var none = rlimit()
    #if canImport(Glibc)
    setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    #else
    setrlimit(RLIMIT_CORE, &none)
    #endif
  }

  /// Ends this process by a signal.
  static func end(by number: Int32) -> Never {
    if !UnstoredRefreshes.close(within: .zero) {
      sayBriefly { Terminal.say(CommandError(unstored: UnstoredRefreshes.trouble)) }
    }
    for work in last.withLock({ $0 }) { work() }
    if number == SIGQUIT { leaveNoCore() }
    var one = sigset_t()
    sigemptyset(&one)
    sigaddset(&one, number)
    signal(number, SIG_DFL)
    pthread_sigmask(SIG_UNBLOCK, &one, nil)
    raise(number)
    // The signal's default is to end the program.
    _exit(128 + number)
  }
}
#endif
