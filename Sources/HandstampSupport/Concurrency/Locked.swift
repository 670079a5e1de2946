#if canImport(Darwin)
import os
#else
import Synchronization
#endif

/// A value behind a small lock, held for nanoseconds: `OSAllocatedUnfairLock` on Apple platforms, because `Mutex` needs iOS 18,
/// and `Mutex` elsewhere.
package final class Locked<Value: Sendable>: Sendable {
  #if canImport(Darwin)
  private let lock: OSAllocatedUnfairLock<Value>
  package init(_ value: Value) { lock = OSAllocatedUnfairLock(initialState: value) }
  package func withLock<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    try lock.withLockUnchecked(body)
  }
  #else
  private let lock: Mutex<Value>
  package init(_ value: Value) { lock = Mutex(value) }
  package func withLock<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    try lock.withLock { value in try body(&value) }
  }
  #endif
}
