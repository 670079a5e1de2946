// Stands in for Apple's os where there is none, so that what uses it can be type-checked; nothing of it is ever run.

/// macOS 13, iOS 16, tvOS 16, watchOS 9. `Mutex` needs macOS 15, iOS 18.
public struct OSAllocatedUnfairLock<State>: @unchecked Sendable {
  public init(initialState: State) where State: Sendable {}
  public func withLockUnchecked<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    fatalError()
  }
}
