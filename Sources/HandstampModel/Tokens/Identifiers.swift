/// A text that names one thing and is no secret. Two kinds of id are two types.
public protocol Identifier: RawRepresentable, Sendable, Hashable, Codable, Comparable, CustomStringConvertible
where RawValue == String {
  init(rawValue: String)
}

extension Identifier {
  public init(_ text: String) { self.init(rawValue: text) }
  public var description: String { rawValue }
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Names a person's account, as the server knows it.
public struct AccountID: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

/// Names one installation on one device.
public struct DeviceID: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

/// Names one session: one device–account pair, from sign-in to its end.
public struct SessionID: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}
