#if canImport(Darwin)
public import os
#else
public import Synchronization
#endif

/// A value behind a small lock, held for nanoseconds: `OSAllocatedUnfairLock` on Apple platforms, because `Mutex` needs iOS 18,
/// and `Mutex` elsewhere. Public and inlinable, so that other modules specialize it: looking up the metadata of a generic type
/// takes longer than the work under the lock.
public final class Locked<Value: Sendable>: Sendable {
  #if canImport(Darwin)
  @usableFromInline let lock: OSAllocatedUnfairLock<Value>
  @inlinable public init(_ value: Value) { lock = OSAllocatedUnfairLock(initialState: value) }
  @inlinable public func withLock<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    try lock.withLockUnchecked(body)
  }
  #else
  @usableFromInline let lock: Mutex<Value>
  @inlinable public init(_ value: Value) { lock = Mutex(value) }
  @inlinable public func withLock<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    try lock.withLock { value in try body(&value) }
  }
  #endif
}
