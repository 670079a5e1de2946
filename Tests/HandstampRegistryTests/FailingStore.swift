import HandstampCore
import HandstampRegistry
import HandstampSupport

/// A memory store whose writes can be made to fail or to conflict.
final class FailingStore: RegistryStore {
  private let inner = MemoryRegistryStore()
  private let failure = Locked<RegistryStoreError?>(nil)
  private let rival = Locked<SessionID?>(nil)

  func fail(_ error: RegistryStoreError?) { failure.withLock { $0 = error } }

  /// From now on, another writer changes this session just before every write.
  func disturb(_ id: SessionID) { rival.withLock { $0 = id } }

  @concurrent func write(
    _ changes: [RegistryChange], events: [RegistryEvent]
  ) async throws(RegistryStoreError) -> [StoredEvent] {
    if let error = failure.withLock({ $0 }) { throw error }
    if let id = rival.withLock({ $0 }), let row = await inner.session(id), row.end == nil {
      _ = try await inner.write([.replaceSession(row, expecting: row.revision)], events: [])
    }
    return try await inner.write(changes, events: events)
  }

  @concurrent func session(_ id: SessionID) async throws(RegistryStoreError) -> SessionRow? { await inner.session(id) }
  @concurrent func sessions(of account: AccountID) async throws(RegistryStoreError) -> [SessionRow] {
    await inner.sessions(of: account)
  }
  @concurrent func expired(at now: UnixTime, limit: Int) async throws(RegistryStoreError) -> [SessionRow] {
    await inner.expired(at: now, limit: limit)
  }
  @concurrent func account(_ id: AccountID) async throws(RegistryStoreError) -> AccountRecord? {
    await inner.account(id)
  }
  @concurrent func account(email normalized: String) async throws(RegistryStoreError) -> AccountRecord? {
    await inner.account(email: normalized)
  }
  @concurrent func account(identity: ExternalIdentity) async throws(RegistryStoreError) -> AccountRecord? {
    await inner.account(identity: identity)
  }
  @concurrent func oneTimeToken(_ id: OneTimeTokenID) async throws(RegistryStoreError) -> OneTimeTokenRecord? {
    await inner.oneTimeToken(id)
  }
  @concurrent func prune(_ retention: Retention, limit: Int) async throws(RegistryStoreError) -> Int {
    await inner.prune(retention, limit: limit)
  }
  @concurrent func events(
    after id: EventID, account: AccountID?, limit: Int
  ) async throws(RegistryStoreError) -> [StoredEvent] {
    await inner.events(after: id, account: account, limit: limit)
  }
  @concurrent func clockNote() async throws(RegistryStoreError) -> ClockNote? { await inner.clockNote() }
  @concurrent func lastEventID() async throws(RegistryStoreError) -> EventID { await inner.lastEventID() }
}
