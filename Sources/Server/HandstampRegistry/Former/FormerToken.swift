import Crypto
package import HandstampCore
import HandstampSupport

/// A refresh token of the system that the users come from: what this server knows of it. The token itself is not stored, but its SHA-256.
package struct FormerToken: Sendable, Hashable {
  /// How long it is remembered that a token was taken over.
  package static let memory = Duration.seconds(400 * 86_400)

  /// As it is stored; `nil` for a token that this server has not seen.
  var item: StoredItem?
  package let id: StoredItemID
  /// The context that its successor is sealed with.
  package var context: String { Base64URL.encode(id.bytes) }
  package var record = Record()

  package struct Record: Sendable, Hashable {
    /// Whose it is, once that is known.
    package var account: AccountID?
    /// When the user signed in at the former system; `nil` if that is not known.
    package var authenticatedAt: UnixTime?
    /// Whether it was imported, so that the former system is not asked.
    package var isImported = false
    /// The token that the former system has given in its place, sealed.
    package var successor: String?
    /// Until when a server asks the former system for its successor: 20 s, stored before it asks, so that two servers never send one
    /// former token at once, which the former system may take for a theft.
    package var claimedUntil: UnixTime?
    /// How often the former system was asked for a successor without a response.
    package var unanswered = 0
    /// The session that it has begun here.
    package var session: SessionID?
  }

  /// The longest token that is looked at, in bytes.
  package static let longest = 8192

  /// Returns the name of a token in the store; `nil` for a text that no request can present.
  package static func id(of token: Secret) -> StoredItemID? {
    guard token.isToken, token.count <= longest else { return nil }
    return id(ofHash: token.withExposedBytes { Array(SHA256.hash(data: Array($0))) })
  }

  /// Returns the name of the token with this SHA-256; `nil` unless there are exactly 32 bytes.
  package static func id(ofHash bytes: [UInt8]) -> StoredItemID? {
    bytes.count == SHA256.byteCount ? StoredItemID(.formerToken, Base64URL.encode(bytes)) : nil
  }

  init(_ id: StoredItemID) { self.id = id }

  init?(_ item: StoredItem) {
    guard let record = PayloadCoding.value(Record.self, item.payload) else { return nil }
    (self.item, id, self.record) = (item, item.id, record)
  }

  /// Whether the item is a token that begins no session any more.
  package static func isUsed(_ item: StoredItem) -> Bool { FormerToken(item)?.record.session != nil }

  /// No session has this ID.
  private static let noSession = SessionID("ended")

  /// The change that has a token begin no session any more; `nil` if it has begun one. One that is used at the same time has begun a
  /// session, which ends with the others.
  static func spending(_ item: StoredItem) -> RegistryChange? {
    guard var record = FormerToken(item)?.record, record.session == nil else { return nil }
    record.session = noSession
    var spent = item
    spent.payload = PayloadCoding.text(record)
    return .putItem(spent)
  }

  /// Whether an imported token is over.
  package func hasExpired(at now: UnixTime) -> Bool { item.map { $0.expiresAt <= now } ?? false }

  /// The key of the request that takes a token over: the same for each repeat, so that a repeat gets the same session, also from a client
  /// that has lost its own key.
  static func key(of token: Secret) -> RotationKey? {
    let digest = token.withExposedBytes { Array(SHA256.hash(data: Array("hsf1 ".utf8) + Array($0))) }
    return RotationKey(bytes: digest.prefix(16))
  }

  /// The change that stores `next` if nothing has changed since this was read. Of a token that may be worth nothing, little is remembered.
  func change(to next: Record, now: UnixTime) -> RegistryChange {
    let isKnown = next.session != nil || next.successor != nil || next.isImported
    let expiry = now.advanced(by: isKnown ? FormerToken.memory : .seconds(86_400))
    guard var stored = item else {
      return .createItem(
        StoredItem(
          id: id, kind: .formerToken, payload: PayloadCoding.text(next), createdAt: now,
          expiresAt: expiry))
    }
    stored.payload = PayloadCoding.text(next)
    stored.expiresAt = expiry
    return .replaceItem(stored, expecting: stored.revision)
  }
}

extension FormerToken.Record: StoredPayload {
  package var fields: [String: String?] {
    [
      "account": account?.rawValue, "authenticated": authenticatedAt.map { String($0.milliseconds) },
      "imported": isImported ? "1" : nil, "successor": successor,
      "claimed": claimedUntil.map { String($0.milliseconds) }, "unanswered": String(unanswered),
      "session": session?.rawValue,
    ]
  }

  package init?(fields: [String: String]) {
    guard let unanswered = fields["unanswered"].flatMap({ Int($0) }) else { return nil }
    self.unanswered = unanswered
    account = fields["account"].map { AccountID($0) }
    authenticatedAt = fields.time("authenticated")
    isImported = fields["imported"] != nil
    successor = fields["successor"]
    claimedUntil = fields.time("claimed")
    session = fields["session"].map { SessionID($0) }
  }
}
