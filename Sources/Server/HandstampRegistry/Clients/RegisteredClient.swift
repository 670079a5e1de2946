package import HandstampCore
import HandstampSupport

/// A client that has registered itself (RFC 7591). Anyone can do that: what it says of itself is not verified.
package struct RegisteredClient: Sendable, Hashable {
  /// How many there may be. Of those that register at the same instant, some may be one more. An unused one makes room for the next.
  package static let most = 1000
  /// How long one is remembered that no user has allowed anything.
  package static let trial = Duration.seconds(86_400)
  /// How long one is remembered after its last session, or after a user has allowed it something.
  package static let memory = Duration.seconds(90 * 86_400)
  private static let prefix = "registered-"

  /// The `client_id`.
  package let id: String
  /// `nil` if it gives itself none.
  package let name: String?
  package let redirectURIs: [String]
  package let scopes: [String]
  package let registeredAt: UnixTime

  /// Whether an ID is one of those that are given to clients here, remembered or not: pages have the ID alone.
  package static func isID(_ id: String) -> Bool { id.hasPrefix(prefix) && id.utf8.count == prefix.utf8.count + 22 }

  fileprivate static func drawn(from source: inout some RandomNumberGenerator) -> String {
    prefix + Base64URL.encode(randomBytes(16, from: &source))
  }
}

extension RegisteredClient: StoredPayload {
  package var fields: [String: String?] {
    [
      "client": id, "name": name, "redirects": redirectURIs.joined(separator: " "),
      "scope": scopes.joined(separator: " "), "registered": String(registeredAt.milliseconds),
    ]
  }

  package init?(fields: [String: String]) {
    guard let id = fields["client"], let redirects = fields["redirects"], let scope = fields["scope"],
      let registered = fields.time("registered")
    else { return nil }
    self.init(
      id: id, name: fields["name"], redirectURIs: redirects.split(separator: " ").map(String.init),
      scopes: scope.split(separator: " ").map(String.init), registeredAt: registered)
  }
}

extension Registry {
  private static let registrations = "registrations"

  private static func registrationID(_ client: String) -> StoredItemID { StoredItemID(.registration, client) }

  /// Whether a user has allowed the client something, which ``keepClient(_:until:now:)`` was told of.
  private static func isUsed(_ item: StoredItem) -> Bool {
    item.expiresAt > item.createdAt.advanced(by: RegisteredClient.trial)
  }

  /// Returns the clients that have registered themselves, the oldest first.
  package func registeredClients(now: UnixTime) async throws(RegistryError) -> [RegisteredClient] {
    try await liveItems(.registration, of: Registry.registrations, now: now)
      .compactMap { PayloadCoding.value(RegisteredClient.self, $0.payload) }
  }

  /// Returns a client that has registered itself; `nil` if it was never here, or is forgotten.
  package func registeredClient(_ id: String, now: UnixTime) async throws(RegistryError) -> RegisteredClient? {
    try await liveItem(Registry.registrationID(id), now: now)
      .flatMap { PayloadCoding.value(RegisteredClient.self, $0.payload) }
  }

  /// Registers a client. If there are ``RegisteredClient/most``, it takes the place of the oldest one that was never used: otherwise
  /// strangers could keep others from registering. Returns `nil` if all are in use, or if as many have made room in the last minute.
  package func register(
    name: String?, redirectURIs: [String], scopes: [String], now: UnixTime
  ) async throws(RegistryError) -> RegisteredClient? {
    var source = source
    let client = RegisteredClient(
      id: RegisteredClient.drawn(from: &source), name: name, redirectURIs: redirectURIs, scopes: scopes,
      registeredAt: now)
    let item = StoredItem(
      id: Registry.registrationID(client.id), kind: .registration, subject: Registry.registrations,
      payload: PayloadCoding.text(client), createdAt: now, expiresAt: now.advanced(by: RegisteredClient.trial))
    for _ in 0..<Registry.attempts {
      let stored = try await items(.registration, of: Registry.registrations)
      // Those that have expired are read by each registration until they are pruned.
      guard stored.count < 2 * RegisteredClient.most else { return nil }
      let known = stored.filter { $0.expiresAt > now }
      var changes: [RegistryChange] = [
        .createItem(item), audited(.clientRegistered, details: details(client.id), at: now),
      ]
      if known.count >= RegisteredClient.most {
        guard let unused = known.first(where: { !Registry.isUsed($0) }) else { return nil }
        // It expires. A removal would be remembered for each, and strangers could fill the log of them.
        var expired = unused
        expired.expiresAt = now
        changes.append(.replaceItem(expired, expecting: unused.revision))
      }
      // It fails if the unused one was used in the meantime, or has gone.
      if try await write(changes, []) { return client }
    }
    throw Registry.contention
  }

  /// Remembers the client of a session for as long as that may last, and ``RegisteredClient/memory``, if it has registered itself.
  package func keepClient(of row: SessionRow, now: UnixTime) async throws(RegistryError) {
    if let client = row.client?.id { try await keepClient(client, until: row.expiry ?? now, now: now) }
  }

  /// Remembers a client that has registered itself until ``RegisteredClient/memory`` after `end`. Writes at most once a day; what
  /// another server writes at the same time is as good.
  func keepClient(_ client: String, until end: UnixTime, now: UnixTime) async throws(RegistryError) {
    guard RegisteredClient.isID(client), let item = try await liveItem(Registry.registrationID(client), now: now) else {
      return
    }
    var next = item
    next.expiresAt = end.advanced(by: RegisteredClient.memory)
    guard next.expiresAt.since(item.expiresAt) >= .seconds(86_400) else { return }
    _ = try await write([.replaceItem(next, expecting: item.revision)], [])
  }

  /// Forgets a client that has registered itself. Returns whether it was here.
  package func forgetClient(_ id: String, now: UnixTime) async throws(RegistryError) -> Bool {
    for _ in 0..<Registry.attempts {
      guard let item = try await liveItem(Registry.registrationID(id), now: now) else { return false }
      let audit = audited(.clientRemoved, details: details(id), at: now)
      if try await write([.removeItem(item), audit], []) { return true }
    }
    throw Registry.contention
  }

  private func details(_ client: String) -> String { JSONText([("client", client)]).text }
}
