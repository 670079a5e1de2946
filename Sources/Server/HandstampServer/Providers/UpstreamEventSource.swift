#if Server
import HandstampCore
import HandstampJOSE
import HandstampRegistry
import HandstampSupport

/// A provider as a source of ends: verifies its logout tokens (OpenID Connect Back-Channel Logout 1.0 section 2.6), security event tokens
/// (RFC 8417), and Apple's notifications. Only the provider's keys count, and each kind of token only as that kind.
struct UpstreamEventSource: Sendable {
  /// The `err` of responses (RFC 8935 section 2.4).
  struct Refusal: Error, Hashable {
    enum Code: String { case invalid_request, invalid_key, invalid_issuer, invalid_audience }
    var code: Code
    /// For the sender and the log: nothing of the token.
    var words: String
  }

  /// The kind of a token, which its `typ` says, so that no other token of the issuer counts as one.
  enum Kind { case logout, event, apple }

  /// How far the provider's clock may be ahead.
  static let skew = Duration.seconds(60)
  /// How old a logout token may be, whose delivery is tried at once.
  static let logoutAge = Duration.seconds(3600)
  /// How old an event may be, which a sender may keep for a receiver that is down. Less than ``Registry/upstreamEventMemory``.
  static let eventAge = Duration.seconds(7 * 86_400)
  /// Maximum length of a subject or session, in bytes (OpenID Connect Core 1.0 section 2).
  private static let longestID = 255

  let id: String
  let name: String
  let issuer: String
  /// The clients that sign in here.
  let clientIDs: Set<String>
  /// The other names that events may be for: this server.
  var receivers: Set<String> = []
  let keys: KeySet
  /// Where events are fetched (RFC 8936); `nil` if the provider sends them.
  var polling: UpstreamPolling?

  /// Whether it sends Apple's notifications.
  var isApple: Bool { issuer == AppleSignIn.issuer || id == AppleSignIn.provider }

  /// The ends that a token tells of; empty if it is about something else, or about users of another issuer.
  ///
  /// - Throws: ``Refusal``; ``KeysUnavailable`` if the keys cannot be fetched: the sender should try again.
  func ends(in token: String, _ kind: Kind, at time: ServerClock.Reading) async throws -> (
    event: String, ends: [UpstreamEnd]
  ) {
    guard let jws = CompactJWS(Array(token.utf8)), let header = jws.header, kind.accepts(header.type) else {
      throw Refusal(code: .invalid_request, words: "not a token of this kind, or not signed with ES256 or RS256")
    }
    guard let kid = header.keyID, let key = try await keys.key(named: kid),
      let payload = jws.payload(under: header, signedBy: key)
    else { throw Refusal(code: .invalid_key, words: "not signed by a key of the provider") }
    guard let claims = JSONValue(payload) else { throw Refusal(code: .invalid_request, words: "no claims") }
    try check(claims, kind, at: time)
    // Its users are stored under the issuer as its metadata spells it.
    let issuer = await keys.published ?? self.issuer
    if kind == .apple { return try appleEnds(claims) }
    guard let token = SecurityEventToken(claims) else {
      throw Refusal(code: .invalid_request, words: "a claim is missing or not valid")
    }
    let at = UnixTime(seconds: token.issuedAt)
    if kind == .logout {
      guard let event = token.events[SecurityEventType.backChannelLogout.rawValue], case .object = event,
        let subject = token.subject, let end = end(.ended, of: subject, at: issuer, at, token.id)
      else { throw Refusal(code: .invalid_request, words: "not a logout of a user or a session") }
      return (token.id, [end])
    }
    // In the same order each time, for the IDs of the events depend on it.
    let ends = token.events.sorted { $0.key < $1.key }.compactMap { uri, event -> UpstreamEnd? in
      guard let change = UpstreamEventSource.changes[uri], let subject = token.subject(of: event) else { return nil }
      return end(change, of: subject, at: issuer, at, token.id)
    }
    return (token.id, ends)
  }

  /// The changes that types of events announce. Other types are no business of this server's.
  private static let changes: [String: UpstreamEnd.Change] = [
    SecurityEventType.sessionRevoked.rawValue: .ended,
    // RISC's, which Google sends.
    "https://schemas.openid.net/secevent/risc/event-type/sessions-revoked": .ended,
    SecurityEventType.credentialCompromise.rawValue: .ended,
    SecurityEventType.credentialChange.rawValue: .credential,
    SecurityEventType.accountDisabled.rawValue: .disabled, SecurityEventType.accountEnabled.rawValue: .enabled,
    SecurityEventType.accountPurged.rawValue: .purged,
  ]

  private func check(_ claims: JSONValue, _ kind: Kind, at time: ServerClock.Reading) throws(Refusal) {
    guard let named = claims["iss"]?.string, issuer.isIssuer(published: named) else {
      throw Refusal(code: .invalid_issuer, words: "of another issuer")
    }
    let accepted = kind == .event ? clientIDs.union(receivers) : clientIDs
    guard claims.audiences.contains(where: accepted.contains) else {
      throw Refusal(code: .invalid_audience, words: "for another receiver")
    }
    // An ID token has one, and must not count as one of these (Back-Channel Logout 1.0 section 2.4).
    guard claims["nonce"] == nil else { throw Refusal(code: .invalid_request, words: "a nonce is present") }
    guard let id = claims["jti"]?.string, (1...UpstreamEventSource.longestID).contains(id.utf8.count) else {
      throw Refusal(code: .invalid_request, words: "no jti")
    }
    let age = kind == .logout ? UpstreamEventSource.logoutAge : UpstreamEventSource.eventAge
    guard let issued = claims.time("iat"),
      !issued.advanced(by: .zero - UpstreamEventSource.skew).isAhead(of: time),
      !issued.advanced(by: age).hasPassed(at: time)
    else { throw Refusal(code: .invalid_request, words: "too old, or from the future") }
    guard
      claims["exp"] == nil
        || claims.time("exp")?.advanced(by: UpstreamEventSource.skew).hasPassed(at: time) == false
    else { throw Refusal(code: .invalid_request, words: "expired") }
  }

  /// Apple's notifications have one event, as a text with JSON in it.
  private func appleEnds(_ claims: JSONValue) throws(Refusal) -> (event: String, ends: [UpstreamEnd]) {
    let event = claims["events"]?.string.flatMap { JSONValue(Array($0.utf8)) } ?? claims["events"]
    guard let id = claims["jti"]?.string, let issued = claims.time("iat"), let type = event?["type"]?.string,
      let subject = event?["sub"]?.string
    else { throw Refusal(code: .invalid_request, words: "not a notification") }
    let change: UpstreamEnd.Change
    switch type {
    case "consent-revoked": change = .ended
    case "account-delete", "account-deleted": change = .purged
    // Such as `email-disabled`: mails to a relay of Apple's do not arrive.
    default: return (id, [])
    }
    return (
      id, [end(change, of: SecurityEventSubject(account: subject), at: issuer, issued.stated, id)].compactMap(\.self)
    )
  }

  /// `nil` for a subject of another issuer, and for one that only has an address, which can be another user's by now.
  private func end(
    _ change: UpstreamEnd.Change, of subject: SecurityEventSubject, at issuer: String, _ at: UnixTime, _ event: String
  ) -> UpstreamEnd? {
    guard subject.issuer.map({ issuer.isIssuer(published: $0) }) ?? true,
      subject.account != nil || subject.session != nil && subject.email == nil,
      [subject.account, subject.session].allSatisfy({ ($0?.utf8.count ?? 1) <= UpstreamEventSource.longestID })
    else { return nil }
    return UpstreamEnd(
      issuer: issuer, subject: subject.account, sid: change == .ended ? subject.session : nil, change: change, at: at,
      event: event, provider: name)
  }
}

extension UpstreamEventSource {
  /// - Parameters:
  ///   - receiver: the server's own URL, which events may be for.
  ///   - name: the server's issuer, if that is another one.
  init(_ provider: UpstreamProvider, keys: KeySet, receiver: String, named name: String? = nil) {
    self.init(
      id: provider.id, name: provider.name, issuer: provider.issuer,
      clientIDs: provider.nativeClientIDs.union([provider.clientID]),
      receivers: [name ?? receiver, receiver + "/sign-in/with/\(provider.id)/events"], keys: keys,
      polling: provider.polling)
  }

  /// Sign in with Apple of apps.
  init(_ apple: AppleSignIn, keys: KeySet) {
    self.init(id: AppleSignIn.provider, name: "Apple", issuer: apple.issuer, clientIDs: apple.clientIDs, keys: keys)
  }
}

extension AppleSignIn {
  /// The ID of the provider in URLs.
  static let provider = "apple"
}

extension UpstreamEventSource.Kind {
  /// `nil` is the type of a token without one.
  fileprivate func accepts(_ type: String?) -> Bool {
    switch (self, type?.lowercased()) {
    case (.logout, nil), (.logout, "jwt"), (.logout, "logout+jwt"), (.event, "secevent+jwt"), (.apple, nil),
      (.apple, "jwt"):
      true
    case (.logout, _), (.event, _), (.apple, _): false
    }
  }
}
#endif
