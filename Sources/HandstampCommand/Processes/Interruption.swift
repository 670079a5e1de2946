#if Command
import Dispatch
import Foundation
import Handstamp
import HandstampCore

/// Handles Ctrl-C during a refresh at a server without rotation keys: the first one lets the refresh finish and its response be
/// stored; the second one ends the program at once.
enum Interruption {
  private static let source: Void = {
    signal(SIGINT, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
    // Its handler keeps it alive as long as the program runs.
    source.setEventHandler { happened(source) }
    source.resume()
  }()

  /// Installs the handler. Call this before such a refresh can start. Interrupts that were ignored or blocked when the
  /// program started stay so.
  static func arrange() {
    if !Inheritance.current.takesNoInterrupt { _ = source }
  }

  private static func happened(_ source: any DispatchSourceSignal) {
    signal(SIGINT, SIG_DFL)
    if !UnsettledRefreshes.isEmpty {
      Terminal.say("finishing a refresh so that the session is not lost; press Ctrl-C again to quit now")
      UnsettledRefreshes.wait(within: UnsettledRefreshes.limit)
    }
    kill(getpid(), SIGINT)
  }
}
#endif
