public import HandstampCore
import HandstampSupport

/// Clients that get tokens for themselves.
extension Registry {
  private static let machines = "machines"
  /// How often a token is counted again after a concurrent one. The count may be behind; a token must not wait for it.
  private static let countingAttempts = 4

  private static func machineID(_ client: String) -> StoredItemID { StoredItemID(.machine, client) }

  private func item(of machine: MachineRecord, at now: UnixTime) -> StoredItem {
    StoredItem(
      id: Registry.machineID(machine.client), kind: .machine, subject: Registry.machines,
      payload: PayloadCoding.text(machine), createdAt: now,
      expiresAt: machine.issuedAt.advanced(by: MachineRecord.memory))
  }

  private func stored(
    _ client: String, now: UnixTime
  ) async throws(RegistryError) -> (item: StoredItem?, machine: MachineRecord?) {
    let item = try await item(Registry.machineID(client))
    let live = item.flatMap { $0.expiresAt > now ? PayloadCoding.value(MachineRecord.self, $0.payload) : nil }
    return (item, live)
  }

  /// Returns a client that has had tokens for itself lately; `nil` if it has not.
  public func machine(_ client: String, now: UnixTime) async throws(RegistryError) -> MachineRecord? {
    try await stored(client, now: now).machine
  }

  /// Returns the clients that have had tokens for themselves lately, the most recent first.
  public func machines(now: UnixTime) async throws(RegistryError) -> [MachineRecord] {
    try await liveItems(.machine, of: Registry.machines, now: now)
      .compactMap { PayloadCoding.value(MachineRecord.self, $0.payload) }
      .sorted { ($0.issuedAt, $0.client) > ($1.issuedAt, $1.client) }
  }

  /// Counts a token that a client gets for itself. The audit log gets an entry for the first one, and for each that goes to another
  /// address than the one before.
  ///
  /// - Returns: the record with the session that the token has to name.
  public func countToken(ofMachine client: String, now: UnixTime) async throws(RegistryError) -> MachineRecord {
    for attempt in 1...Registry.attempts {
      let (item, previous) = try await stored(client, now: now)
      // Its session is good whether this token is counted or not.
      if let previous, attempt > Registry.countingAttempts { return previous }
      var source = source
      let fresh = SessionID(Base64URL.encode(randomBytes(16, from: &source)))
      var next = previous ?? MachineRecord(client: client, session: fresh, issuedAt: now, count: 0, address: nil)
      next.issuedAt = max(next.issuedAt, now)
      next.count += 1
      next.address = actor.address
      var changes = [Registry.replacing(item, by: self.item(of: next, at: item?.createdAt ?? now))]
      if previous == nil || previous?.address != next.address {
        changes.append(audited(.machineToken, session: next.session, details: details(client), at: now))
      }
      if try await write(changes, []) { return next }
    }
    throw Registry.contention
  }

  /// Ends all tokens that a client has got for itself: introspection refuses them from now on, and verifiers as soon as the event
  /// reaches them. The client may get new ones.
  ///
  /// - Returns: the record as it was; `nil` if the client has had no tokens lately.
  public func endTokens(ofMachine client: String, now: UnixTime) async throws(RegistryError) -> MachineRecord? {
    for _ in 0..<Registry.attempts {
      let (item, previous) = try await stored(client, now: now)
      guard let item, let previous else { return nil }
      var (next, source) = (previous, source)
      next.session = SessionID(Base64URL.encode(randomBytes(16, from: &source)))
      let end = RegistryEvent(
        kind: .sessionRevoked, account: AccountID(client), session: previous.session, reason: .revoked, at: now)
      // Removed and created, because a restore must not bring back what is removed.
      let changes = [
        .removeItem(item), .createItem(self.item(of: next, at: item.createdAt)),
        audited(.machineTokensEnded, session: previous.session, details: details(client), at: now),
      ]
      if try await write(changes, [end]) { return previous }
    }
    throw Registry.contention
  }

  private func details(_ client: String) -> String { JSONText([("client", client)]).text }
}
