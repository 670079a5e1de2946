// Stands in for Apple's Network; see Security.swift. iOS 12, macOS 10.14, tvOS 12, watchOS 5.
public import Dispatch

public struct NWPath: Sendable {
  public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }
  public var status: Status { .satisfied }
}

public final class NWPathMonitor: Sendable {
  public init() {}
  /// Called on the queue of `start`: at the start, and after each change.
  public var pathUpdateHandler: (@Sendable (_ newPath: NWPath) -> Void)? {
    get { nil }
    set {}
  }
  public func start(queue: DispatchQueue) {}
  public func cancel() {}
}
