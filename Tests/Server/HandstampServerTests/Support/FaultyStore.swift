#if Programs
import HandstampCore
import HandstampRegistry
import HandstampSupport
import HandstampTesting

/// An in-memory store whose operations can be made to fail.
final class FaultyStore: StoreDecorator {
  enum Fault: Sendable { case none, writes, all }

  let base = MemoryRegistryStore()
  private let state = Locked(Fault.none)
  private let copies = Locked(0)

  var replacements: Int { copies.withLock { $0 } }

  /// As if a restored copy had taken its place.
  func replace() { copies.withLock { $0 += 1 } }

  func fail(_ fault: Fault) { state.withLock { $0 = fault } }

  func willRead() throws(RegistryStoreError) { try check(writing: false) }
  func willWrite() throws(RegistryStoreError) { try check(writing: true) }

  private func check(writing: Bool) throws(RegistryStoreError) {
    switch state.withLock({ $0 }) {
    case .none: return
    case .writes where !writing: return
    case .writes, .all: throw .unavailable("the disk is on fire")
    }
  }
}
#endif
