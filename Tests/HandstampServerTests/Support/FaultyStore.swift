#if Programs
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// An in-memory store whose operations can be made to fail.
final class FaultyStore: RegistryStore {
  enum Fault: Sendable { case none, writes, all }

  private let base = MemoryRegistryStore()
  private let state = Locked(Fault.none)

  func fail(_ fault: Fault) { state.withLock { $0 = fault } }

  private func check(writing: Bool) throws(RegistryStoreError) {
    switch state.withLock({ $0 }) {
    case .none: return
    case .writes where !writing: return
    case .writes, .all: throw .unavailable("the disk is on fire")
    }
  }

  @concurrent func write(
    _ changes: [RegistryChange], events: [RegistryEvent]
  ) async throws(RegistryStoreError) -> [StoredEvent] {
    try check(writing: true)
    return try await base.write(changes, events: events)
  }

  @concurrent func session(_ id: SessionID) async throws(RegistryStoreError) -> SessionRow? {
    try check(writing: false)
    return await base.session(id)
  }

  @concurrent func sessions(of account: AccountID) async throws(RegistryStoreError) -> [SessionRow] {
    try check(writing: false)
    return await base.sessions(of: account)
  }

  @concurrent func expired(at now: UnixTime, limit: Int) async throws(RegistryStoreError) -> [SessionRow] {
    try check(writing: false)
    return await base.expired(at: now, limit: limit)
  }

  @concurrent func account(_ id: AccountID) async throws(RegistryStoreError) -> AccountRecord? {
    try check(writing: false)
    return await base.account(id)
  }

  @concurrent func account(email normalized: String) async throws(RegistryStoreError) -> AccountRecord? {
    try check(writing: false)
    return await base.account(email: normalized)
  }

  @concurrent func account(identity: ExternalIdentity) async throws(RegistryStoreError) -> AccountRecord? {
    try check(writing: false)
    return await base.account(identity: identity)
  }

  @concurrent func oneTimeToken(_ id: OneTimeTokenID) async throws(RegistryStoreError) -> OneTimeTokenRecord? {
    try check(writing: false)
    return await base.oneTimeToken(id)
  }

  @concurrent func prune(_ retention: Retention, limit: Int) async throws(RegistryStoreError) -> Int {
    try check(writing: true)
    return await base.prune(retention, limit: limit)
  }

  @concurrent func events(
    after id: EventID, account: AccountID?, limit: Int
  ) async throws(RegistryStoreError) -> [StoredEvent] {
    try check(writing: false)
    return await base.events(after: id, account: account, limit: limit)
  }

  @concurrent func clockNote() async throws(RegistryStoreError) -> ClockNote? {
    try check(writing: false)
    return await base.clockNote()
  }

  @concurrent func lastEventID() async throws(RegistryStoreError) -> EventID {
    try check(writing: false)
    return await base.lastEventID()
  }
}
#endif
