import Dispatch
import Foundation
import HandstampCore
import HandstampSupport

/// The requests of this process whose tokens would be lost with it: refreshes at servers without rotation keys, and those that begin a
/// session, until the response is stored.
///
/// Such a server may have replaced the refresh token by the time the process ends, or keep a session that no client has. So a normal
/// exit (`exit`, or the end of `main`) waits for them, at most ``limit``. A program can say so, and that they are lost: see
/// ``atExit(waiting:lost:)``.
package enum UnstoredRefreshes {
  /// The longest that an exit waits: 60 s.
  package static let limit: Duration = .seconds(60)

  private static let group = DispatchGroup()
  private struct State: Sendable {
    var count = 0
    var isExiting = false
    /// Why the last one could not be stored.
    var trouble: VaultError?
    var waiting: @Sendable (VaultError?) -> Void = { _ in }
    var lost: @Sendable (VaultError?) -> Void = { _ in }
  }
  private static let state = Locked(State())
  private static let exitWaits: Void = {
    _ = atexit { UnstoredRefreshes.finish() }
  }()

  /// Sets what the program does at an exit while there are such refreshes.
  ///
  /// - Parameters:
  ///   - waiting: called once it has waited for a second, with the error of the last attempt to store a response.
  ///   - lost: called after ``limit``. It may end the process with a status of its own.
  package static func atExit(
    waiting: @escaping @Sendable (VaultError?) -> Void, lost: @escaping @Sendable (VaultError?) -> Void
  ) {
    state.withLock { ($0.waiting, $0.lost) = (waiting, lost) }
  }

  /// Waits as an exit does: before the process becomes another program.
  package static func finish() {
    // The usual case, which needs no word.
    if close(within: .seconds(1)) { return }
    let found = state.withLock { $0 }
    found.waiting(found.trouble)
    if !close(within: limit) { found.lost(trouble) }
  }

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
    state.withLock { state in
      state.count -= 1
      if state.count == 0 { state.trouble = nil }
    }
    group.leave()
  }

  /// Notes why a response could not be stored, which is tried again.
  static func failed(_ trouble: VaultError) { state.withLock { $0.trouble = trouble } }

  /// Why the last response could not be stored; `nil` if none was tried.
  package static var trouble: VaultError? { state.withLock { $0.trouble } }

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
