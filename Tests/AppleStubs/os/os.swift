// Stands in for Apple's os where there is none, so that what uses it can be type-checked; nothing of it is ever run.

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
// Unchecked, as Apple's: its content is accessed under the lock.
public struct OSAllocatedUnfairLock<State>: @unchecked Sendable {
  public init(initialState: State) where State: Sendable {}
  public func withLockUnchecked<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    fatalError()
  }
}

@available(macOS 11, iOS 14, tvOS 14, watchOS 7, *)
public struct Logger: Sendable {
  public init(subsystem: String, category: String) {}
  public func log(level: OSLogType, _ message: OSLogMessage) {}
}

public struct OSLogType: Sendable {
  public static let `default` = OSLogType()
  public static let info = OSLogType()
  public static let debug = OSLogType()
  public static let error = OSLogType()
  public static let fault = OSLogType()
}

public struct OSLogPrivacy: Sendable {
  public static let auto = OSLogPrivacy()
  public static let `public` = OSLogPrivacy()
}

public struct OSLogMessage: ExpressibleByStringInterpolation, Sendable {
  public struct StringInterpolation: StringInterpolationProtocol, Sendable {
    public init(literalCapacity: Int, interpolationCount: Int) {}
    public mutating func appendLiteral(_ literal: String) {}
    public mutating func appendInterpolation(
      _ text: @autoclosure @escaping () -> String, privacy: OSLogPrivacy = .auto
    ) {}
  }
  public init(stringLiteral: String) {}
  public init(stringInterpolation: StringInterpolation) {}
}
