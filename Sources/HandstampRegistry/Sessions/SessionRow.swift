public import HandstampCore

/// Whether the client of a session brings rotation keys. Decided at sign-in, for the life of the session.
public enum SessionKind: String, Sendable, Hashable, Codable, CaseIterable {
  /// Every refresh carries a key. One without is refused: were it served, a thief could leave the key out.
  case keyed
  /// A client that knows nothing of keys, such as a third party's OAuth library.
  case plain
}

/// What a device says of itself at sign-in. It may say anything, so control characters are taken out and long texts cut.
public struct DeviceInfo: Sendable, Hashable {
  /// The most bytes of each of the three.
  public static let maxLength = 200

  /// Of the installation: signing in again from it ends its former session.
  public let id: DeviceID
  /// For people: "Ada's phone".
  public let name: String
  /// Such as `ios` or `linux`.
  public let platform: String

  public init(id: DeviceID, name: String, platform: String) {
    self.id = DeviceID(id.rawValue.displayable(limit: DeviceInfo.maxLength))
    self.name = name.displayable(limit: DeviceInfo.maxLength)
    self.platform = platform.displayable(limit: DeviceInfo.maxLength)
  }
}

/// When and why a session ended.
public struct SessionEnd: Sendable, Hashable {
  public var at: UnixTime
  public var reason: EndReason

  public init(at: UnixTime, reason: EndReason) {
    self.at = at
    self.reason = reason
  }
}

/// The program that a session was granted to, where it is not the server's own app: another OAuth client (RFC 6749).
public struct SessionClient: Sendable, Hashable {
  /// Its `client_id`.
  public let id: String
  /// What was granted, space between; empty for nothing in particular. It never grows.
  public let scope: String
  /// The API that its access tokens are for (RFC 8707). Nothing: the server's own.
  public let audience: String?

  public init(id: String, scope: String, audience: String? = nil) {
    self.id = id
    self.scope = scope
    self.audience = audience
  }
}

/// One session, as the server keeps it: one row, updated in place, no token in it.
public struct SessionRow: Sendable, Hashable {
  public let session: SessionBytes
  public let account: AccountID
  public var device: DeviceInfo
  public let kind: SessionKind
  /// Nothing for a session of the server's own app.
  public let client: SessionClient?
  /// How often the refresh token was rotated: the counter of the token that is good now.
  public var counter: UInt64
  public var ring: KeyRing
  public private(set) var createdAt: UnixTime
  public var rotatedAt: UnixTime
  /// Lags behind by up to a minute, see ``RegistryLimits/touchInterval``.
  public var lastSeenAt: UnixTime
  /// Nothing while the session was not ended. One that only expired may have nothing here for a while.
  public var end: SessionEnd?
  /// When the session ends, however much it is used. Nothing: never.
  public var absoluteExpiry: UnixTime?
  /// How long the session lasts unused. Nothing: for ever.
  public var idleLimit: Duration?
  /// The JWK thumbprint that tokens are bound to (RFC 9449 section 6).
  public var dpopThumbprint: String?
  /// Where a push message for the device may be sent. Gone with the session's end, and never shown.
  public var pushToken: Secret?
  /// One more with every write, so that a writer can tell that somebody else was faster.
  public var revision: Int64

  public init(
    session: SessionBytes, account: AccountID, device: DeviceInfo, kind: SessionKind,
    client: SessionClient? = nil, counter: UInt64 = 0, ring: KeyRing = KeyRing(), createdAt: UnixTime,
    rotatedAt: UnixTime? = nil,
    lastSeenAt: UnixTime? = nil, end: SessionEnd? = nil, absoluteExpiry: UnixTime? = nil,
    idleLimit: Duration? = nil, dpopThumbprint: String? = nil, pushToken: Secret? = nil,
    revision: Int64 = 0
  ) {
    self.session = session
    self.account = account
    self.device = device
    self.kind = kind
    self.client = client
    self.counter = counter
    self.ring = ring
    self.createdAt = createdAt
    self.rotatedAt = rotatedAt ?? createdAt
    self.lastSeenAt = lastSeenAt ?? createdAt
    self.end = end
    self.absoluteExpiry = absoluteExpiry
    self.idleLimit = idleLimit
    self.dpopThumbprint = dpopThumbprint
    self.pushToken = pushToken
    self.revision = revision
  }
}

extension SessionRow {
  public var id: SessionID { session.id }

  /// When the session ends if nobody uses it any more. Nothing: never.
  public var idleExpiry: UnixTime? { idleLimit.map { lastSeenAt.advanced(by: $0) } }

  /// The earlier of the two ends that need nobody to bring them about.
  public var expiry: UnixTime? {
    switch (absoluteExpiry, idleExpiry) {
    case (let absolute?, let idle?): min(absolute, idle)
    case (let one?, nil), (nil, let one?): one
    case (nil, nil): nil
    }
  }

  /// Why the session is over at `now`; nothing while it lasts. The expiry itself is already over.
  public func over(at now: UnixTime) -> EndReason? {
    if let end { return end.reason }
    if let absoluteExpiry, now >= absoluteExpiry { return .expired }
    if let idleExpiry, now >= idleExpiry { return .idle }
    return nil
  }

  /// What the ring knows of the rotation of `counter`. Nothing when it is too old, or has not yet taken place.
  func accepted(at counter: UInt64) -> KeyRing.Entry? {
    guard counter < self.counter else { return nil }
    let age = self.counter - counter
    guard age <= UInt64(ring.entries.count) else { return nil }
    return ring.entries[ring.entries.count - Int(age)]
  }

  /// The row after the times of it that lie in `span` were moved, see ``RegistryChange/moveTimes(_:by:)``.
  func moved(_ span: ClosedRange<UnixTime>, by distance: Duration) -> SessionRow {
    func moved(_ time: UnixTime) -> UnixTime { span.contains(time) ? time.advanced(by: distance) : time }
    var row = self
    if span.contains(createdAt) { row.absoluteExpiry = absoluteExpiry?.advanced(by: distance) }
    row.createdAt = moved(createdAt)
    row.rotatedAt = moved(rotatedAt)
    row.lastSeenAt = moved(lastSeenAt)
    if row != self { row.revision += 1 }
    return row
  }

  /// The row after it was ended. What had ended before stays as it was.
  func ended(_ reason: EndReason, at now: UnixTime) -> SessionRow {
    var row = self
    row.end = row.end ?? SessionEnd(at: now, reason: reason)
    row.pushToken = nil
    row.revision += 1
    return row
  }
}
