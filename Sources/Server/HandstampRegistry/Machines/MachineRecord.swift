public import HandstampCore
import HandstampSupport

/// A client that has had tokens for itself lately, without a user (RFC 6749 section 4.4).
///
/// Its tokens name a session that no account has. When the administrator ends them, that session ends, by an event like that of any
/// other session, and later tokens name another one. So introspection and verifiers need no second rule.
public struct MachineRecord: Sendable, Hashable {
  /// How long after its last token a client is remembered.
  public static let memory = Duration.seconds(30 * 86_400)

  /// The `client_id`.
  public let client: String
  /// The `sid` of its tokens.
  public internal(set) var session: SessionID
  /// When it last got a token.
  public internal(set) var issuedAt: UnixTime
  /// How many tokens it has got since it was first remembered, at least: of many at the same instant, some may not be counted.
  public internal(set) var count: Int64
  /// The address that its last token went to; `nil` if there was none.
  public internal(set) var address: String?
}

extension MachineRecord: StoredPayload {
  package var fields: [String: String?] {
    [
      "client": client, "session": session.rawValue, "issued": String(issuedAt.milliseconds), "count": String(count),
      "address": address,
    ]
  }

  package init?(fields: [String: String]) {
    guard let client = fields["client"], let session = fields["session"], let issued = fields.time("issued"),
      let count = fields["count"].flatMap({ Int64($0) })
    else { return nil }
    self.init(
      client: client, session: SessionID(session), issuedAt: issued, count: count, address: fields["address"])
  }
}
