#if Command
import Foundation
import HandstampCore
import HandstampSupport

/// A status line that shows what the program is waiting for, once the wait exceeds a second; erased afterwards. Not shown
/// unless stderr is a terminal.
package final class WaitLine: Sendable {
  package static let shared = WaitLine()

  private struct State {
    var isSilent = false
    var lastNumber = 0
    /// Current waits, newest last.
    var waits: [(number: Int, words: String, since: ContinuousClock.Instant)] = []
    var isShown = false
  }
  private let state = Locked(State())
  /// Delay before the line appears, and interval between updates.
  private static let patience = Duration.seconds(1)

  package func silence() { state.withLock { $0.isSilent = true } }

  private static let isTerminal = isatty(STDERR_FILENO) == 1 && ProcessEnvironment["TERM"] != "dumb"

  /// Runs `body`, which waits for whatever `words` describes.
  ///
  /// - Parameter pause: Says, at each update, why nothing is being sent, and until when; `nil` while that is not so.
  package func during<Result, Failure: Error>(
    _ words: @autoclosure () -> String, pause: (@Sendable () async -> String?)? = nil,
    _ body: () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    guard WaitLine.isTerminal, !state.withLock({ $0.isSilent }) else { return try await body() }
    let words = words()
    let number = state.withLock { state in
      state.lastNumber += 1
      state.waits.append((state.lastNumber, words, .now))
      return state.lastNumber
    }
    let ticking = Task.detached(priority: .utility) {
      while true {
        do { try await Task.sleep(for: WaitLine.patience) } catch { return }
        self.show(number, await pause?())
      }
    }
    defer {
      ticking.cancel()
      state.withLock { state in
        state.waits.removeAll { $0.number == number }
        WaitLine.erase(&state)
      }
    }
    return try await body()
  }

  /// Erases the line. Called before anything else is written.
  package func makeRoom() { state.withLock { WaitLine.erase(&$0) } }

  private func show(_ number: Int, _ pause: String?) {
    state.withLock { state in
      // Only the newest wait is shown; one that has ended by now is skipped.
      guard let wait = state.waits.last, wait.number == number else { return }
      state.isShown = true
      let time = (ContinuousClock.now - wait.since).words
      Terminal.writeRaw("\r\u{1B}[K" + (pause ?? "waiting for \(wait.words), \(time)"))
    }
  }

  private static func erase(_ state: inout State) {
    guard state.isShown else { return }
    state.isShown = false
    Terminal.writeRaw("\r\u{1B}[K")
  }
}
#endif
