package import HandstampCore
package import HandstampRegistry

/// A store for tests that adds something to another store, such as failures. It forwards every call after asking
/// ``willRead()`` or ``willWrite()``, so that a new requirement of the port cannot be forgotten in one of them.
package protocol StoreDecorator<Base>: RegistryStore {
  associatedtype Base: RegistryStore
  var base: Base { get }

  /// Called before each read; what it throws is thrown by the read.
  func willRead() async throws(RegistryStoreError)
  /// Called before each write or pruning; what it throws is thrown by it.
  func willWrite() async throws(RegistryStoreError)
}

extension StoreDecorator {
  package func news() -> StoreNews? { base.news() }
  package var replacements: Int { base.replacements }
  package var damage: String? { base.damage }

  package func willRead() async throws(RegistryStoreError) {}
  package func willWrite() async throws(RegistryStoreError) {}

  private func read<Value: Sendable>(
    _ value: @autoclosure () async throws(RegistryStoreError) -> Value
  ) async throws(RegistryStoreError) -> Value {
    try await willRead()
    return try await value()
  }

  @concurrent package func write(
    _ changes: [RegistryChange], events: [RegistryEvent]
  ) async throws(RegistryStoreError) {
    try await willWrite()
    try await base.write(changes, events: events)
  }

  @concurrent package func change<Value: Sendable>(
    _ session: SessionBytes, _ decide: @escaping @Sendable (SessionRow?, UnixTime?) -> Decision<Value>
  ) async throws(RegistryStoreError) -> Value {
    try await willRead()
    // Decided twice, to find out whether there is a write.
    if !decide(try await base.session(session.id), nil).isEmpty { try await willWrite() }
    return try await base.change(session, decide)
  }

  @concurrent package func session(_ id: SessionID) async throws(RegistryStoreError) -> SessionRow? {
    try await read(try await base.session(id))
  }

  @concurrent package func sessions(of account: AccountID) async throws(RegistryStoreError) -> [SessionRow] {
    try await read(try await base.sessions(of: account))
  }

  @concurrent package func endedSessions(of account: AccountID) async throws(RegistryStoreError) -> [SessionRow] {
    try await read(try await base.endedSessions(of: account))
  }

  @concurrent package func expired(at now: UnixTime, limit: Int) async throws(RegistryStoreError) -> [SessionRow] {
    try await read(try await base.expired(at: now, limit: limit))
  }

  @concurrent package func account(_ id: AccountID) async throws(RegistryStoreError) -> AccountRecord? {
    try await read(try await base.account(id))
  }

  @concurrent package func account(email normalized: String) async throws(RegistryStoreError) -> AccountRecord? {
    try await read(try await base.account(email: normalized))
  }

  @concurrent package func account(identity: ExternalIdentity) async throws(RegistryStoreError) -> AccountRecord? {
    try await read(try await base.account(identity: identity))
  }

  @concurrent package func accounts(
    after id: AccountID?, limit: Int
  ) async throws(RegistryStoreError) -> [AccountRecord] {
    try await read(try await base.accounts(after: id, limit: limit))
  }

  @concurrent package func oneTimeToken(_ id: OneTimeTokenID) async throws(RegistryStoreError) -> OneTimeTokenRecord? {
    try await read(try await base.oneTimeToken(id))
  }

  @concurrent package func item(_ id: StoredItemID) async throws(RegistryStoreError) -> StoredItem? {
    try await read(try await base.item(id))
  }

  @concurrent package func items(
    _ kind: StoredItem.Kind, subject: String
  ) async throws(RegistryStoreError) -> [StoredItem] {
    try await read(try await base.items(kind, subject: subject))
  }

  @concurrent package func dueItems(
    _ kind: StoredItem.Kind, at now: UnixTime, limit: Int
  ) async throws(RegistryStoreError) -> [StoredItem] {
    try await read(try await base.dueItems(kind, at: now, limit: limit))
  }

  @concurrent package func items(
    _ kind: StoredItem.Kind, after id: StoredItemID?, limit: Int
  ) async throws(RegistryStoreError) -> [StoredItem] {
    try await read(try await base.items(kind, after: id, limit: limit))
  }

  @concurrent package func liveSessions(
    upTo time: UnixTime?
  ) async throws(RegistryStoreError) -> (refreshed: Int, begun: Int) {
    try await read(try await base.liveSessions(upTo: time))
  }

  @concurrent package func auditedActions(
    after id: Int64, about account: AccountID?, limit: Int
  ) async throws(RegistryStoreError) -> [StoredAuditedAction] {
    try await read(try await base.auditedActions(after: id, about: account, limit: limit))
  }

  @concurrent package func latestAuditedActions(
    about account: AccountID, before id: Int64?, limit: Int
  ) async throws(RegistryStoreError) -> [StoredAuditedAction] {
    try await read(try await base.latestAuditedActions(about: account, before: id, limit: limit))
  }

  @concurrent package func clientSessions() async throws(RegistryStoreError) -> [String: Int] {
    try await read(try await base.clientSessions())
  }

  @concurrent package func counts() async throws(RegistryStoreError) -> RegistryCounts {
    try await read(try await base.counts())
  }

  @concurrent package func prune(_ retention: Retention, limit: Int) async throws(RegistryStoreError) -> Int {
    try await willWrite()
    return try await base.prune(retention, limit: limit)
  }

  @concurrent package func events(
    after id: EventID, account: AccountID?, limit: Int
  ) async throws(RegistryStoreError) -> [StoredEvent] {
    try await read(try await base.events(after: id, account: account, limit: limit))
  }

  @concurrent package func clockNote() async throws(RegistryStoreError) -> ClockNote? {
    try await read(try await base.clockNote())
  }

  @concurrent package func lastEventID() async throws(RegistryStoreError) -> EventID {
    try await read(try await base.lastEventID())
  }
}
