package import HandstampSupport

/// Delays the program's exit until refreshes in flight are stored. The module that handles exits installs the watch; without it
/// no exit waits.
package enum ExitGuard {
  package struct Watch: Sendable {
    let begin: @Sendable () -> Bool
    let end: @Sendable () -> Void

    package init(begin: @escaping @Sendable () -> Bool, end: @escaping @Sendable () -> Void) {
      self.begin = begin
      self.end = end
    }
  }

  package static let watch = Locked<Watch?>(nil)

  /// Call this before a refresh token is sent. Returns `nil` if the program is exiting: then the token must not be sent. Call
  /// the result when the outcome is stored.
  package static func begin() -> (@Sendable () -> Void)? {
    guard let watch = watch.withLock({ $0 }) else { return {} }
    return watch.begin() ? watch.end : nil
  }
}
