import Dispatch
import Foundation
import HandstampCore
import HandstampSupport

/// The requests of this process whose tokens would be lost with it: refreshes at servers without rotation keys, and those that begin a
/// session, until the response is stored.
///
/// Such a server may have replaced the refresh token by the time the process ends, or keep a session that no client has. So a normal
/// exit (`exit`, or the end of `main`) waits for them, at most ``limit``.
package enum UnstoredRefreshes {
  /// The longest that an exit waits: 60 s.
  package static let limit: Duration = .seconds(60)

  private static let group = DispatchGroup()
  private struct State: Sendable {
    var count = 0
    var isExiting = false
  }
  private static let state = Locked(State())
  private static let exitWaits: Void = {
    _ = atexit { _ = UnstoredRefreshes.close(within: UnstoredRefreshes.limit) }
  }()

  /// Blocks the calling thread until there are no such refreshes, at most for `limit`, because the program is about to end: a
  /// refresh that has not been sent by now is not sent any more, since no program would be left to read the response. Returns
  /// whether there are none.
  @discardableResult
  package static func close(within limit: Duration) -> Bool {
    state.withLock { $0.isExiting = true }
    let milliseconds = max(.zero, min(limit, .seconds(86_400))).wholeMilliseconds
    return group.wait(timeout: .now() + .milliseconds(Int(milliseconds))) == .success
  }

  /// Call this long before anything is sent: a handler that is registered while the program exits may never run.
  static func watchExit() { _ = exitWaits }

  /// Call this before such a request is sent. Returns `false` if the program is exiting: then it must not be sent.
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

  /// Counts a sign-in among them from when it takes its turn until it gives the turn back.
  ///
  /// - Parameter unlock: gives the turn back; `nil` if the sign-in goes on without a lock.
  static func holding(_ unlock: SignInTurn.Release?) throws(VaultError) -> SignInTurn.Release {
    guard begin() else {
      unlock?()
      throw .unavailable("the program is ending")
    }
    return {
      unlock?()
      end()
    }
  }
}
