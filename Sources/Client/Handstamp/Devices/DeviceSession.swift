/// One of an account's sessions, as the list of devices shows it.
public struct DeviceSession: Sendable, Hashable, Identifiable {
  /// The session's ID.
  public var id: SessionID
  /// Whether it is the session that requested the list.
  public var isCurrent: Bool
  /// The device's name, chosen by its owner or its maker.
  public var name: String
  /// The platform: `iOS`, `macOS`, `Linux` and so on.
  public var platform: String
  /// When the session began, by the server's clock.
  public var startedAt: UnixTime
  /// When the session last requested a token, by the server's clock.
  public var lastSeenAt: UnixTime
  /// The first session of those that a list shows as one; `nil` for a list without groups.
  package var group: SessionID?

  public init(
    id: SessionID, isCurrent: Bool, name: String, platform: String, startedAt: UnixTime, lastSeenAt: UnixTime
  ) {
    self.id = id
    self.isCurrent = isCurrent
    self.name = name
    self.platform = platform
    self.startedAt = startedAt
    self.lastSeenAt = lastSeenAt
  }
}
