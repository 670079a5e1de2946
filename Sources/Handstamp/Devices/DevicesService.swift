/// One of an account's sessions, as the list of devices shows it.
public struct DeviceSession: Sendable, Hashable, Identifiable {
  public var id: SessionID
  /// Whether it is the session that asked.
  public var isCurrent: Bool
  /// The device's name, as its owner or its maker gave it.
  public var name: String
  /// `iOS`, `macOS`, `Linux` and so on.
  public var platform: String
  public var startedAt: UnixTime
  /// When it asked the server for a token last.
  public var lastSeenAt: UnixTime

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

/// The devices that an account is signed in on.
public protocol DevicesService: Sendable {
  /// All of them, those seen last first.
  @concurrent func devices() async throws(SessionError) -> [DeviceSession]

  /// Ends one session. One that is over already is no error.
  @concurrent func end(_ session: SessionID) async throws(SessionError)

  /// Ends every session but this one.
  @concurrent func endOthers() async throws(SessionError)

  /// Yields when the list may have changed; may yield too often. Ends with its task.
  func changes() -> AsyncStream<Void>
}

extension DevicesService {
  /// A list of which nobody tells when it changes.
  public func changes() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
}
