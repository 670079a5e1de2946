public import HandstampCore
import HandstampSupport

/// A vault key kept by a ``VaultKeyStore``. It is loaded once, then cached for the lifetime of this object.
public final class ManagedVaultKey: Sendable {
  private let store: any VaultKeyStore
  /// The store's name in the note beside the vaults, for programs whose users choose. While the note names another place, no key
  /// is created.
  let noted: String?
  private let known = Locked<SealingKey?>(nil)
  private let listeners = ChangeListeners()

  public convenience init(in store: any VaultKeyStore) { self.init(in: store, noted: nil) }

  package init(in store: any VaultKeyStore, noted: String?) {
    self.store = store
    self.noted = noted
  }

  /// Loads the key now. Vaults do so themselves; call this after the store was unlocked, to make them read again.
  ///
  /// - Throws: The errors of ``VaultKeyStore/load()``.
  @concurrent public func find() async throws(VaultError) {
    guard key == nil else { return }
    if let key = try await stored() { use(key) }
  }

  /// Forgets the key. It is loaded again before the next use of a vault.
  public func forget() { known.withLock { $0 = nil } }

  /// The key, or `nil` until it is loaded.
  var key: SealingKey? { known.withLock { $0 } }

  var changes: AsyncStream<Void> { listeners.subscribe() }

  /// Generates and stores a key unless there is one. The caller holds the lock of the vaults.
  func make() async throws(VaultError) {
    if let key = try await stored() { return use(key) }
    try await store.store(Secret(bytes: randomBytes(SealingKey.byteCount)))
    // The key that the store hands out counts, not the one that it was given.
    guard let key = try await stored() else {
      throw .unavailable("the key store does not return the key that was stored")
    }
    use(key)
  }

  private func stored() async throws(VaultError) -> SealingKey? {
    guard let secret = try await store.load() else { return nil }
    guard let key = secret.withExposedBytes(SealingKey.init) else {
      throw .wrongKey("the key in the key store has fewer than \(SealingKey.byteCount) bytes")
    }
    return key
  }

  private func use(_ key: SealingKey) {
    known.withLock { $0 = key }
    listeners.signal()
  }
}

extension ManagedVaultKey: Hashable {
  public static func == (one: ManagedVaultKey, other: ManagedVaultKey) -> Bool { one === other }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
