/// Lets an exit of the program wait for refreshes whose answer is not stored yet. The module that has to do with exits sets it up;
/// without that no exit waits.
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

  /// To be called before a refresh token is sent. Without an answer when the program is exiting: then it must not be sent. The
  /// answer is called when what came of it is stored.
  package static func begin() -> (@Sendable () -> Void)? {
    guard let watch = watch.withLock({ $0 }) else { return {} }
    return watch.begin() ? watch.end : nil
  }
}
