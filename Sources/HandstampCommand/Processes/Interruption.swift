#if Command
import Dispatch
import Foundation
import Handstamp
import HandstampCore
import HandstampSupport

/// Handles the signals that ask the program to end, during a refresh at a server without rotation keys: the first one lets the
/// refresh finish and its response be stored, for at most ``UnsettledRefreshes/limit``; a second one ends the program at once.
/// Either way, the program ends by the first signal, as its parent expects.
enum Interruption {
  /// Ctrl-C; `kill`, `timeout` and service managers; a terminal or a connection that was closed.
  static let signals = [SIGINT, SIGTERM, SIGHUP]

  /// `timeout` and service managers send two signals at once, which count as one.
  private static let doubled = Duration.milliseconds(500)

  private struct First {
    var signal: Int32
    var time: ContinuousClock.Instant
  }
  private static let first = Locked<First?>(nil)

  private static let handlers: Void = {
    for number in Inheritance.current.taken {
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      // Its handler keeps it alive as long as the program runs.
      source.setEventHandler { withExtendedLifetime(source) { happened(number) } }
      source.resume()
    }
  }()

  /// Installs the handlers. Call this before such a refresh can start. Signals that were ignored or blocked when the program
  /// started stay so.
  static func arrange() { _ = handlers }

  /// Ends the program if a signal asked for it. Call this before it exits or becomes another program.
  static func conclude() {
    guard let signal = first.withLock({ $0?.signal }) else { return }
    UnsettledRefreshes.close(within: UnsettledRefreshes.limit)
    end(by: signal)
  }

  private static func happened(_ signal: Int32) {
    let now = ContinuousClock.now
    let former = first.withLock { first in
      defer { first = first ?? First(signal: signal, time: now) }
      return first
    }
    if let former {
      if now - former.time > doubled { end(by: former.signal) }
      return
    }
    // A message to a pipe without a reader must not end the program.
    Foundation.signal(SIGPIPE, SIG_IGN)
    // Another signal must find the queue of its source free.
    DispatchQueue.global().async {
      if !UnsettledRefreshes.close(within: .zero) {
        let limit = UnsettledRefreshes.limit
        let again = signal == SIGINT ? "press Ctrl-C again" : "send another signal"
        Terminal.say(
          "finishing a refresh so that the session is not lost, for at most \(limit.words); \(again) to quit now")
        UnsettledRefreshes.close(within: limit)
      }
      end(by: signal)
    }
  }

  private static func end(by number: Int32) -> Never {
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
