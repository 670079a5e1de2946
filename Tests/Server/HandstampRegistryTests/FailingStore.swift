import HandstampCore
import HandstampRegistry
import HandstampSupport
import HandstampTesting

/// A memory store whose writes can be made to fail or to conflict.
final class FailingStore: StoreDecorator {
  let base = MemoryRegistryStore()
  private let failure = Locked<RegistryStoreError?>(nil)
  private let rival = Locked<SessionID?>(nil)

  func fail(_ error: RegistryStoreError?) { failure.withLock { $0 = error } }

  /// From now on, another writer changes this session just before every write.
  func disturb(_ id: SessionID) { rival.withLock { $0 = id } }

  func willWrite() async throws(RegistryStoreError) {
    if let error = failure.withLock({ $0 }) { throw error }
    if let id = rival.withLock({ $0 }), let row = await base.session(id), row.end == nil {
      try await base.write([.replaceSession(row, expecting: row.revision)], events: [])
    }
  }
}
