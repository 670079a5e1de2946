import Dispatch
import Foundation
import HandstampCore

/// The refreshes of this process whose answer is not stored yet, at servers that know no rotation key.
///
/// Such a server may have replaced the refresh token by the time a process ends, and the successor would be lost with it, and
/// the session with that. So a normal exit (`exit`, or the end of `main`) waits for them, at most for ``limit``.
public enum UnsettledRefreshes {
  /// The longest that an exit waits: 60 s.
  public static let limit: Duration = .seconds(60)

  private static let group = DispatchGroup()
  private struct State: Sendable {
    var count = 0
    var isExiting = false
  }
  private static let state = Locked(State())
  private static let exitWaits: Void = {
    ExitGuard.watch.withLock { $0 = ExitGuard.Watch(begin: UnsettledRefreshes.begin, end: UnsettledRefreshes.end) }
    _ = atexit {
      // What has not been sent by now is not sent any more: its answer would find no program.
      UnsettledRefreshes.state.withLock { $0.isExiting = true }
      UnsettledRefreshes.wait(within: UnsettledRefreshes.limit)
    }
  }()

  /// Whether there is none.
  public static var isEmpty: Bool { state.withLock { $0.count == 0 } }

  /// Blocks the calling thread until there is none, at most for `limit`. Tells whether that is so. For signal handling and
  /// other places that cannot suspend; elsewhere use ``SessionController/refreshSettled(within:)``.
  @discardableResult
  public static func wait(within limit: Duration) -> Bool {
    let (seconds, attoseconds) = max(.zero, min(limit, .seconds(86_400))).components
    let milliseconds = Int(seconds) * 1_000 + Int(attoseconds / 1_000_000_000_000_000)
    return group.wait(timeout: .now() + .milliseconds(milliseconds)) == .success
  }

  /// To be called long before anything is sent: what is registered while the program exits may never be called.
  static func watchExit() { _ = exitWaits }

  /// To be called before a refresh token is sent. False when the program is exiting: then it must not be sent.
  static func begin() -> Bool {
    state.withLock { state in
      guard !state.isExiting else { return false }
      state.count += 1
      group.enter()
      return true
    }
  }

  static func end() {
    state.withLock { $0.count -= 1 }
    group.leave()
  }
}
