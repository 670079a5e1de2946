import HandstampCore
import HandstampSupport

/// The access to an account that a client asks for, stored with the code that it gets, and the session of the browser in which the user
/// has allowed it.
public struct ClientAccess: Sendable, Hashable {
  public var client: String
  /// The name shown in the list of sessions.
  public var clientName: String
  public var scope: String
  public var audience: String?
  /// How strong a proof the client asks for.
  public var context: AuthenticationContext?
  /// When the user who allowed it had signed in.
  var authenticatedAt: UnixTime?
  /// How.
  var methods: AuthenticationMethods = []
  /// The session in which it was allowed.
  var session: SessionID?
  /// The browser of that session; of a device's request only one that is borrowed.
  var browser: DeviceID?
  /// When that browser's session ends at the latest.
  var absoluteExpiry: UnixTime?
  /// When the code expires. Set once it is redeemed: until then, the same request gets the same session.
  var redeemableUntil: UnixTime?

  mutating func allow(by user: BrowserSession) {
    (authenticatedAt, methods, session) = (user.authenticatedAt, user.methods, user.row.id)
    methods.asked = context
  }

  mutating func depend(on row: SessionRow) {
    (browser, session, absoluteExpiry) = (row.device.id, row.id, row.absoluteExpiry)
  }
}

extension ClientAccess: StoredPayload {
  package var fields: [String: String?] {
    [
      "client": client, "name": clientName, "scope": scope, "audience": audience, "acr": context?.rawValue,
      "authenticated": authenticatedAt.map { String($0.milliseconds) }, "methods": methods.text,
      "session": session?.rawValue, "browser": browser?.rawValue,
      "until": absoluteExpiry.map { String($0.milliseconds) },
      "redeemable": redeemableUntil.map { String($0.milliseconds) },
    ]
  }

  package init?(fields: [String: String]) {
    guard let client = fields["client"], let name = fields["name"], let scope = fields["scope"] else { return nil }
    self.init(client: client, clientName: name, scope: scope, audience: fields["audience"])
    context = fields["acr"].flatMap { AuthenticationContext(rawValue: $0) }
    authenticatedAt = fields.time("authenticated")
    methods = AuthenticationMethods(text: fields["methods"], asked: context)
    session = fields["session"].map { SessionID($0) }
    browser = fields["browser"].map { DeviceID($0) }
    (absoluteExpiry, redeemableUntil) = (fields.time("until"), fields.time("redeemable"))
  }
}

/// The payload of a code by which a client begins a session.
protocol CodePayload: StoredPayload, Sendable {
  var access: ClientAccess { get set }
  /// Whether that session ends with the one of the browser.
  var dependsOnBrowser: Bool { get }
  /// That of the authorization request.
  var nonce: String? { get }
}

extension CodePayload {
  func origin(_ start: SessionStart, by way: SignInWay, as used: OneTimeTokenID) -> SessionOrigin {
    let isDevice = way == .deviceCode
    return SessionOrigin(
      start: start, way: way, subject: [isDevice ? "device code" : "code", Base64URL.encode(used.bytes)],
      client: SessionClient(
        id: access.client, scope: access.scope, audience: access.audience,
        browser: dependsOnBrowser ? access.browser : nil),
      authenticatedAt: access.authenticatedAt, methods: access.methods,
      latestExpiry: dependsOnBrowser ? access.absoluteExpiry : nil, isElsewhere: isDevice)
  }
}

extension SessionStart {
  /// The session of another client, whose device is named once its ID is known.
  init(byCodeWith key: RotationKey?, _ persistence: SessionPersistence, thumbprint: String?) {
    self.init(
      device: .none, kind: key == nil ? .plain : .keyed, persistence, thumbprint: thumbprint, key: key)
  }
}

extension CodeGrant: CodePayload {
  package var fields: [String: String?] {
    access.fields.merging(
      [
        "redirect": redirectURI, "challenge": challenge, "thumbprint": thumbprint, "nonce": nonce,
        "borrowed": isBorrowed ? "1" : nil,
      ]) { $1 }
  }

  package init?(fields: [String: String]) {
    guard let access = ClientAccess(fields: fields), let redirect = fields["redirect"] else { return nil }
    (self.access, redirectURI, challenge) = (access, redirect, fields["challenge"])
    (thumbprint, nonce, isBorrowed) = (fields["thumbprint"], fields["nonce"], fields["borrowed"] != nil)
  }
}

extension DeviceGrant: CodePayload {
  var dependsOnBrowser: Bool { access.browser != nil }
  var nonce: String? { nil }

  package var fields: [String: String?] {
    access.fields.merging(
      [
        "other": other, "denied": isDenied ? "1" : nil, "max_age": maxAge.map { String($0.components.seconds) },
      ]) { $1 }
  }

  package init?(fields: [String: String]) {
    guard let access = ClientAccess(fields: fields), let other = fields["other"] else { return nil }
    (self.access, self.other, isDenied) = (access, other, fields["denied"] != nil)
    maxAge = fields["max_age"].flatMap { Int64($0) }.map { .seconds($0) }
  }
}
