public import HandstampCore
import HandstampSupport

/// The permission of an account's owner for an OAuth client, until it is withdrawn.
public struct Consent: Sendable, Hashable {
  /// How long after it was last used a consent is remembered.
  public static let memory = Duration.seconds(400 * 86_400)

  public let client: String
  /// The client's name when the user was last asked.
  public let name: String
  /// Everything that was ever allowed, in the order of the requests.
  public let scopes: [String]
  /// The APIs that its tokens may be for, besides the server itself (RFC 8707).
  public let audiences: [String]
  /// When the user first allowed it.
  public let givenAt: UnixTime
  /// When it last spared the user the question, or was given; `nil` for a session that began without.
  package var lastUsedAt: UnixTime?
  /// That of the stored item.
  var revision: Int64 = 0

  /// Returns whether the user has allowed all of these scopes, for all of these APIs.
  public func covers(_ scopes: [String], for audiences: [String] = []) -> Bool {
    scopes.allSatisfy { self.scopes.contains($0) } && audiences.allSatisfy { self.audiences.contains($0) }
  }
}

extension Consent {
  fileprivate init?(_ item: StoredItem) {
    guard let consent = PayloadCoding.value(Consent.self, item.payload) else { return nil }
    self = consent
    lastUsedAt = item.expiresAt.advanced(by: .zero - Consent.memory)
    revision = item.revision
  }
}

extension Consent: StoredPayload {
  package var fields: [String: String?] {
    [
      "client": client, "name": name, "scope": scopes.joined(separator: " "),
      "audience": audiences.joined(separator: " "), "given": String(givenAt.milliseconds),
    ]
  }

  package init?(fields: [String: String]) {
    guard let client = fields["client"], let name = fields["name"], let scope = fields["scope"],
      let audience = fields["audience"], let given = fields.time("given")
    else { return nil }
    self.init(
      client: client, name: name, scopes: scope.split(separator: " ").map(String.init),
      audiences: audience.split(separator: " ").map(String.init), givenAt: given)
  }
}

extension Registry {
  /// Returns what the account's owner allows a client; `nil` if the user was never asked, or the consent was withdrawn.
  public func consent(
    of account: AccountID, to client: String, now: UnixTime
  ) async throws(RegistryError) -> Consent? {
    try await liveItem(StoredItemID(.consent, account.rawValue, client), now: now)
      .flatMap { Consent($0) }
  }

  /// Returns what the account's owner allows clients, the oldest first.
  public func consents(of account: AccountID, now: UnixTime) async throws(RegistryError) -> [Consent] {
    try await liveItems(.consent, of: account.rawValue, now: now).compactMap { Consent($0) }
  }

  /// Returns which OAuth clients have access to an account, the oldest first: those that its owner allows something, and those that
  /// have a live session alone, such as one of a device, with what it may do.
  public func apps(of account: AccountID, now: UnixTime) async throws(RegistryError) -> [Consent] {
    let consents = try await consents(of: account, now: now)
    var others: [String: Consent] = [:]
    for row in try await sessions(of: account, now: now).sorted(by: { $0.createdAt < $1.createdAt }) {
      guard let client = row.client, !consents.contains(where: { $0.client == client.id }) else { continue }
      let known = others[client.id]
      let (scopes, audiences) = (known?.scopes ?? [], known?.audiences ?? [])
      others[client.id] = Consent(
        client: client.id, name: client.id, scopes: scopes + client.scopes.filter { !scopes.contains($0) },
        audiences: audiences + [client.audience].compactMap(\.self).filter { !audiences.contains($0) },
        givenAt: known?.givenAt ?? row.createdAt)
    }
    return (consents + others.values).sorted { ($0.givenAt, $0.client) < ($1.givenAt, $1.client) }
  }

  /// The change that remembers what the user allows, added to what was allowed before.
  ///
  /// - Parameter remembered: the consent that spared the user the question: if it was withdrawn since, the change fails.
  func consenting(
    to grant: CodeGrant, of account: AccountID, remembered: Consent?, now: UnixTime
  ) async throws(RegistryError) -> RegistryChange {
    let access = grant.access
    let previous = try await consent(of: account, to: access.client, now: now)
    let asked = access.scope.split(separator: " ").map(String.init)
    let scopes = (previous?.scopes ?? []) + asked.filter { previous?.scopes.contains($0) != true }
    let audiences = (previous?.audiences ?? []) + grant.audiences.filter { previous?.audiences.contains($0) != true }
    let consent = Consent(
      client: access.client, name: access.clientName, scopes: scopes, audiences: audiences,
      givenAt: previous?.givenAt ?? now)
    let item = StoredItem(
      id: StoredItemID(.consent, account.rawValue, access.client), kind: .consent, subject: account.rawValue,
      payload: PayloadCoding.text(consent), createdAt: now, expiresAt: now.advanced(by: Consent.memory))
    return remembered.map { .replaceItem(item, expecting: $0.revision) } ?? .putItem(item)
  }

  /// Withdraws what the owner of an account allows a client, and ends the client's sessions of the account.
  public func withdrawConsent(
    of account: AccountID, to client: String, now: UnixTime
  ) async throws(RegistryError) -> [SessionRow] {
    let id = StoredItemID(.consent, account.rawValue, client)
    let name = NoticedName(text: try await consent(of: account, to: client, now: now)?.name ?? client, client: client)
    let forgotten = StoredItem(id: id, kind: .consent, subject: account.rawValue, createdAt: now, expiresAt: now)
    // Before, so that no code is issued without a question, or redeemed, between the look at the sessions and their end.
    try await write([
      .putItem(forgotten),
      audited(.consentWithdrawn, account: account, details: JSONText([("client", client)]).text, at: now),
      .voidOneTimeTokens(.authorizationCode, subject: account.rawValue),
      .voidOneTimeTokens(.deviceCode, subject: account.rawValue),
    ])
    let told = actor.isOwner ? notice(.sessionsEnded, of: account, name, now: now) : []
    return try await end(
      .revoked, now: now, finally: told,
      rows: try await store.sessions(of: account).filter { $0.client?.id == client })
  }
}
