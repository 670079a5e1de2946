/// A text that identifies one thing and is not secret. Each kind of ID is its own type.
public protocol Identifier: RawRepresentable, Sendable, Hashable, Codable, Comparable, CustomStringConvertible,
  ExpressibleByStringLiteral
where RawValue == String {
  init(rawValue: String)
}

extension Identifier {
  public init(_ text: String) { self.init(rawValue: text) }
  public init(stringLiteral text: String) { self.init(rawValue: text) }
  public var description: String { rawValue }
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Identifies a user's account at the server.
public struct AccountID: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

/// Identifies one installation on one device.
public struct DeviceID: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

/// Identifies one session: one account on one device, from sign-in to its end.
public struct SessionID: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Whether the ID was made on this device, because the server gave none.
  package var isLocal: Bool { rawValue.hasPrefix("local.") }
}
