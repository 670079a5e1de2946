#if JOSE
package import HandstampSupport

/// The claims of a security event token (RFC 8417 section 2.2). Its signature is a matter of ``CompactJWS``.
package struct SecurityEventToken: Sendable, Hashable {
  /// The `typ` of its header (RFC 8417 section 2.3).
  package static let type = "secevent+jwt"

  package var issuer: String
  /// Those who the token is for; empty if it names no audience.
  package var audience: [String]
  /// Seconds since 1970.
  package var issuedAt: Int64
  /// Unique for its issuer (`jti`): a receiver that has it already has the event.
  package var id: String
  /// The same for every token about one incident (`txn`).
  package var transaction: String?
  /// The subject of the token (`sub_id`, RFC 9493); `nil` if each event has its own.
  package var subject: SecurityEventSubject?
  /// By the URIs of their types, those of other types than ``SecurityEventType`` too; never empty.
  package var events: [String: JSONValue]

  package init(
    issuer: String, audience: [String], issuedAt: Int64, id: String, transaction: String? = nil,
    subject: SecurityEventSubject?, events: [String: JSONValue]
  ) {
    self.issuer = issuer
    self.audience = audience
    self.issuedAt = issuedAt
    self.id = id
    self.transaction = transaction
    self.subject = subject
    self.events = events
  }

  /// Reads claims whose signature was verified. `nil` without `iss`, `iat`, `jti` or `events`, and if a claim has another type
  /// than its specification says.
  package init?(_ claims: JSONValue) {
    guard let issuer = claims["iss"]?.string, let issuedAt = claims["iat"]?.number, abs(issuedAt) < 1e15,
      let id = claims["jti"]?.string, case .object(let events)? = claims["events"], !events.isEmpty,
      let audience = SecurityEventToken.audience(claims["aud"])
    else { return nil }
    let transaction = claims["txn"]
    guard transaction == nil || transaction?.string != nil else { return nil }
    var subject: SecurityEventSubject?
    if let value = claims["sub_id"] {
      guard let read = SecurityEventSubject(value) else { return nil }
      subject = read
    } else if let sub = claims["sub"]?.string {
      // As logout tokens have them.
      subject = SecurityEventSubject(issuer: issuer, account: sub, session: claims["sid"]?.string)
    } else if let session = claims["sid"]?.string {
      subject = SecurityEventSubject(issuer: issuer, session: session)
    }
    self.init(
      issuer: issuer, audience: audience, issuedAt: Int64(issuedAt), id: id, transaction: transaction?.string,
      subject: subject, events: events)
  }

  /// The subject of an event: its own, as drafts before the final specifications have it, or else that of the token.
  package func subject(of event: JSONValue) -> SecurityEventSubject? {
    event["subject"].flatMap { SecurityEventSubject($0) } ?? subject
  }

  /// The claims as they are signed.
  package var claims: JSONText {
    var json = JSONText(reserving: 512)
    json.add("iss", issuer)
    if let only = audience.first, audience.count == 1 { json.add("aud", only) } else { json.add("aud", audience) }
    json.add("iat", issuedAt)
    json.add("jti", id)
    json.add("txn", ifPresent: transaction)
    if let subject { json.add("sub_id", subject.json) }
    json.add("events", JSONValue.object(events))
    return json
  }

  /// `nil` for a claim that is neither a string nor a list of strings.
  private static func audience(_ claim: JSONValue?) -> [String]? {
    guard let claim else { return [] }
    if let text = claim.string { return [text] }
    guard let values = claim.array else { return nil }
    let texts = values.compactMap(\.string)
    return texts.count == values.count ? texts : nil
  }
}
#endif
