#if Programs
import Dispatch
import Foundation
import Handstamp
import HandstampCore

/// Ctrl-C while a refresh token is on its way to a server that knows no rotation key: the first one lets the refresh finish and
/// its answer be stored, the second one ends the program at once.
enum Interruption {
  private static let source: Void = {
    signal(SIGINT, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
    // It stays for as long as the program: its handler holds it.
    source.setEventHandler { happened(source) }
    source.resume()
  }()

  /// To be called before such a refresh can begin. Where the program was started with interrupts ignored or blocked, they stay
  /// so.
  static func arrange() {
    if !Inheritance.current.takesNoInterrupt { _ = source }
  }

  private static func happened(_ source: any DispatchSourceSignal) {
    signal(SIGINT, SIG_DFL)
    if !UnsettledRefreshes.isEmpty {
      Terminal.say("finishing a refresh, or the session would be lost; Ctrl-C again ends the program at once")
      UnsettledRefreshes.wait(within: UnsettledRefreshes.limit)
    }
    kill(getpid(), SIGINT)
  }
}
#endif
