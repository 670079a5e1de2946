#if Command
import Dispatch
import HandstampCommandLine
import HandstampSupport

/// The lines of an agent on stderr. They have a queue of their own: a reader that stopped reading must not keep peers from their tokens.
struct AgentLog: Sendable {
  /// How many lines may wait. Further ones are lost, and counted.
  static let limit = 100

  private struct State {
    var waiting = 0
    var lost = 0
  }

  private let state = Locked(State())
  private let queue = DispatchQueue(label: "handstamp.agent.log")
  private let write: @Sendable (String) -> Void

  /// - Parameter write: Prints a line; may take as long as it likes.
  init(write: @escaping @Sendable (String) -> Void = { Terminal.say($0) }) { self.write = write }

  /// Has the line printed after those before it. Returns at once.
  func say(_ line: String) {
    let hasRoom = state.withLock { state in
      guard state.waiting < AgentLog.limit else {
        state.lost += 1
        return false
      }
      state.waiting += 1
      return true
    }
    guard hasRoom else { return }
    queue.async {
      write(line)
      let lost = state.withLock { state in
        state.waiting -= 1
        return exchange(&state.lost, with: 0)
      }
      if lost > 0 { write("\(lost) lines lost: the reader of stderr was too slow") }
    }
  }

  /// Waits until the lines are printed, for at most a second.
  func flush() {
    let isDone = DispatchSemaphore(value: 0)
    queue.async { isDone.signal() }
    _ = isDone.wait(timeout: .now() + 1)
  }
}
#endif
