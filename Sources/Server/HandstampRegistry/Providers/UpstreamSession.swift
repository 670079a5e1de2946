import Crypto
public import HandstampCore
import HandstampSupport

/// The session at another identity provider that a session here depends on: when that one ends, so does this one.
///
/// Given with what begins a session, see ``CredentialUse/upstream`` and `SessionOrigin/upstream`. The store keeps hashes of it, one
/// item for the user and one for the provider's session, written with the session itself.
public struct UpstreamSession: Sendable, Hashable {
  /// The user at the provider.
  public let identity: ExternalIdentity
  /// The provider's session: the `sid` of the ID token. `nil` if it has none: then only what ends all of the user's sessions
  /// ends this one.
  public let sid: String?
  /// When the user signed in at the provider: `auth_time` of the ID token, without it `iat`. An end that the provider has announced
  /// for the same moment or later stops the sign-in. `nil` if that is not known: then one of the last minute does.
  public let authenticatedAt: UnixTime?
  /// When the browser was sent there to sign in anew; `nil` if it was not asked to.
  package var askedAt: UnixTime?

  public init(identity: ExternalIdentity, sid: String?, authenticatedAt: UnixTime?) {
    self.identity = identity
    self.sid = sid
    self.authenticatedAt = authenticatedAt
  }

  /// The user, and the provider's session, as the store knows them.
  var keys: (user: UpstreamKey, session: UpstreamKey?) {
    (UpstreamKey(user: identity), sid.map { UpstreamKey(session: $0, at: identity.issuer) })
  }
}

/// A hash that names a user or a session at a provider, so that the store has neither.
struct UpstreamKey: Sendable, Hashable {
  let text: String

  init(user: ExternalIdentity) { self.init("user", user.issuer, user.subject) }
  init(session: String, at issuer: String) { self.init("session", issuer, session) }
  /// One that an item of the store has.
  init(text: String) { self.text = text }

  private init(_ parts: String...) {
    let named = parts.map { "\($0.utf8.count):\($0)" }.joined()
    text = Base64URL.encode(Array(SHA256.hash(data: Array(named.utf8))))
  }

  /// The item that remembers ends, see ``UpstreamMark``.
  var markID: StoredItemID { StoredItemID(.upstreamEnd, text) }
}

/// That a session here depends on a user or a session at a provider. The item's subject is that one's ``UpstreamKey``.
struct UpstreamDependency: StoredPayload {
  let session: SessionID
  /// The key of the provider's session; `nil` if the provider has named none.
  let key: String?

  var fields: [String: String?] { ["session": session.rawValue, "key": key] }

  static func userID(of session: SessionID) -> StoredItemID { StoredItemID(.upstreamSession, "user", session.rawValue) }

  static func sessionID(of session: SessionID) -> StoredItemID {
    StoredItemID(.upstreamSession, "session", session.rawValue)
  }

  /// The changes that note it, in the write that begins the session.
  static func changes(for row: SessionRow, on user: UpstreamKey, _ session: UpstreamKey?) -> [RegistryChange] {
    let payload = PayloadCoding.text(UpstreamDependency(session: row.id, key: session?.text))
    let end = row.absoluteExpiry ?? row.createdAt.advanced(by: StoredItem.forever)
    func note(_ id: StoredItemID, _ key: UpstreamKey) -> RegistryChange {
      .putItem(
        StoredItem(
          id: id, kind: .upstreamSession, subject: key.text, payload: payload, createdAt: row.createdAt, expiresAt: end)
      )
    }
    let ofUser = note(userID(of: row.id), user)
    guard let session else { return [ofUser] }
    return [ofUser, note(sessionID(of: row.id), session)]
  }
}

extension UpstreamDependency {
  init?(fields: [String: String]) {
    guard let session = fields["session"] else { return nil }
    self.init(session: SessionID(session), key: fields["key"])
  }
}
