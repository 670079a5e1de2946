public import HandstampCore
import HandstampSupport

/// Whether the client of a session sends rotation keys.
public enum SessionKind: String, Sendable, Hashable, Codable, CaseIterable {
  /// It does, or has done so once. In the server's own protocol every refresh carries a key, and one without is refused. In an OAuth
  /// session, each rotation is keyed or drawn, see ``Rotation``.
  case keyed
  /// It never has: an OAuth client that does not know of such keys.
  case plain
  /// A browser, which has a cookie instead of tokens. It cannot be refreshed.
  case browser
}

/// A device's description of itself at sign-in. It is not trusted: control characters are removed and long texts truncated.
public struct DeviceInfo: Sendable, Hashable {
  /// The maximum length of each property, in bytes.
  public static let maxLength = 200

  /// The ID of the installation. The first use of a new session from it ends its previous one.
  public let id: DeviceID
  /// A display name, such as "Ada's phone"; ``platform`` for one of blanks alone.
  public let name: String
  /// A platform name, such as `ios` or `linux`.
  public let platform: String

  public init(id: DeviceID, name: String, platform: String) {
    self.id = DeviceID(id.rawValue.displayable(limit: DeviceInfo.maxLength))
    self.platform = platform.displayable(limit: DeviceInfo.maxLength)
    self.name = name.isEmpty || name.isShown ? name.displayable(limit: DeviceInfo.maxLength) : self.platform
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

/// The OAuth client (RFC 6749) that a session was granted to, other than the server's own app.
public struct SessionClient: Sendable, Hashable {
  /// The `client_id`.
  public let id: String
  /// The granted scope, separated by spaces; may be empty. It never grows.
  public let scope: String
  /// The API that its access tokens are for (RFC 8707). `nil` is the server's own API.
  public let audience: String?
  /// The browser that the user signed in with: when its session is ended, so is this one. `nil` for a session that stands on its
  /// own, as of a client with the scope `offline_access`, unless that browser was borrowed.
  public let browser: DeviceID?

  public init(id: String, scope: String, audience: String? = nil, browser: DeviceID? = nil) {
    self.id = id
    self.scope = scope
    self.audience = audience
    self.browser = browser
  }

  /// The words of ``scope``.
  public var scopes: [String] { scope.split(separator: " ").map(String.init) }
}

/// Returns the grant of a new access token within that of its session: the same, or less. Throws if the request asks for more. `nil`
/// is the grant of the server's own app.
public typealias GrantNarrowing = @Sendable (SessionClient?) throws(GrantRefusal) -> SessionClient?

/// Why a request does not get the grant that it asks for, as the `error` of the response.
public enum GrantRefusal: String, Error {
  /// RFC 6749 section 5.2.
  case invalidScope = "invalid_scope"
  /// RFC 8707 section 2.
  case invalidTarget = "invalid_target"
}

/// One session as the server stores it: one row, updated in place, without any token.
public struct SessionRow: Sendable, Hashable {
  public let session: SessionBytes
  public let account: AccountID
  public var device: DeviceInfo
  /// Changes only from plain to keyed.
  public var kind: SessionKind
  public let persistence: SessionPersistence
  /// `nil` for a session of the server's own app.
  public let client: SessionClient?
  /// How often the refresh token was rotated, which is the counter of the current token.
  public var counter: UInt64
  public var ring: KeyRing
  /// Of a browser, whose ``counter`` is that of its newest cookie; `nil` if only that one counts.
  package var cookies: CookieRange?
  public private(set) var createdAt: UnixTime
  /// When the user proved to be the account's owner, with a password for example. Before ``createdAt`` if the session comes
  /// from a browser in which the user had been signed in.
  public var authenticatedAt: UnixTime
  /// How the user proved it then.
  public var methods: AuthenticationMethods
  /// By the store's clock, see ``RegistryStore/change(_:_:)``.
  public var rotatedAt: UnixTime
  /// Lags behind by up to a minute, see ``RegistryLimits/touchInterval``.
  public var lastSeenAt: UnixTime
  /// `nil` until the session is marked as ended, which for an expired session may take a while.
  public var end: SessionEnd?
  /// When the session ends, however much it is used. `nil` disables the limit.
  public var absoluteExpiry: UnixTime?
  /// How long the session lasts unused. `nil` disables the limit.
  public var idleLimit: Duration?
  /// The JWK thumbprint that tokens are bound to (RFC 9449 section 6).
  public var dpopThumbprint: String?
  /// The token for push messages to the device. Deleted when the session ends, and never shown.
  public var pushToken: Secret?
  /// `nil` once the session was used.
  public var pending: PendingSession?
  /// Incremented by every write, so that writers detect concurrent changes.
  public var revision: Int64

  public init(
    session: SessionBytes, account: AccountID, device: DeviceInfo, kind: SessionKind,
    persistence: SessionPersistence = .persistent, client: SessionClient? = nil, counter: UInt64 = 0,
    ring: KeyRing = KeyRing(), createdAt: UnixTime, authenticatedAt: UnixTime? = nil,
    methods: AuthenticationMethods = [], rotatedAt: UnixTime? = nil, lastSeenAt: UnixTime? = nil,
    end: SessionEnd? = nil, absoluteExpiry: UnixTime? = nil, idleLimit: Duration? = nil,
    dpopThumbprint: String? = nil, pushToken: Secret? = nil, pending: PendingSession? = nil, revision: Int64 = 0
  ) {
    self.session = session
    self.account = account
    self.device = device
    self.kind = kind
    self.persistence = persistence
    self.client = client
    self.counter = counter
    self.ring = ring
    self.createdAt = createdAt
    self.authenticatedAt = authenticatedAt ?? createdAt
    self.methods = methods
    self.rotatedAt = rotatedAt ?? createdAt
    self.lastSeenAt = lastSeenAt ?? createdAt
    self.end = end
    self.absoluteExpiry = absoluteExpiry
    self.idleLimit = idleLimit
    self.dpopThumbprint = dpopThumbprint
    self.pushToken = pushToken
    self.pending = pending
    self.revision = revision
  }
}

extension SessionRow {
  public var id: SessionID { session.id }

  /// When the session ends if it is not used again; `nil` without an idle limit.
  public var idleExpiry: UnixTime? { idleLimit.map { lastSeenAt.advanced(by: $0) } }

  /// The earlier of ``absoluteExpiry`` and ``idleExpiry``; `nil` without either.
  public var expiry: UnixTime? {
    switch (absoluteExpiry, idleExpiry) {
    case (let absolute?, let idle?): min(absolute, idle)
    case (let one?, nil), (nil, let one?): one
    case (nil, nil): nil
    }
  }

  /// Returns why the session has ended or expired at `now`, or `nil` if it is live. At the instant of expiry it has expired.
  public func endReason(at now: UnixTime) -> EndReason? {
    if let end { return end.reason }
    if let absoluteExpiry, now >= absoluteExpiry { return .expired }
    if let idleExpiry, now >= idleExpiry { return .idle }
    return nil
  }

  /// Whether the client sent a key with the last rotation, or with the sign-in. It may then repeat that request freely.
  public var isKeyed: Bool {
    switch ring.entries.last {
    case .drawn?: false
    case .keyed?, .unknown?, nil: kind == .keyed
    }
  }

  /// Returns the row as used at `now`.
  func seen(at now: UnixTime) -> SessionRow {
    var row = self
    row.lastSeenAt = max(row.lastSeenAt, now)
    row.revision += 1
    return row
  }

  /// Returns the ring's entry for the rotation of `counter`, or `nil` if it is too old or has not taken place yet.
  func accepted(at counter: UInt64) -> KeyRing.Entry? {
    guard counter < self.counter else { return nil }
    let age = self.counter - counter
    guard age <= UInt64(ring.entries.count) else { return nil }
    return ring.entries[ring.entries.count - Int(age)]
  }

  /// Returns the row with its times moved, see ``RegistryChange/moveTimes(_:)``.
  func moved(by shift: TimeShift) -> SessionRow {
    var row = self
    if shift.span.contains(createdAt) { row.absoluteExpiry = absoluteExpiry?.advanced(by: shift.distance) }
    row.createdAt = shift.moved(createdAt)
    row.authenticatedAt = shift.moved(authenticatedAt)
    row.rotatedAt = shift.moved(rotatedAt)
    row.lastSeenAt = shift.moved(lastSeenAt)
    if let cookies { row.cookies?.provenAt = shift.moved(cookies.provenAt) }
    if row != self { row.revision += 1 }
    return row
  }

  /// Returns the row as ended. An earlier end is kept.
  func ended(_ reason: EndReason, at now: UnixTime) -> SessionRow {
    var row = self
    row.end = row.end ?? SessionEnd(at: now, reason: reason)
    row.pushToken = nil
    row.revision += 1
    return row
  }
}
