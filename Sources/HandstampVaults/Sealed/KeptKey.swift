public import HandstampCore

/// Where a vault's key is kept that is in no file: the secret store of a desktop, a service that hands out keys.
public protocol VaultKeyStore: Sendable {
  /// The key as it was stored; nothing when it is confirmed that there is none.
  ///
  /// - Throws: ``VaultTrouble/locked`` until its owner unlocks the store, ``VaultTrouble/unavailable(_:)`` when it does not
  ///   answer. It answers in a few seconds, whatever it is doing.
  @concurrent func load() async throws(VaultTrouble) -> Secret?

  /// Stores a key, durably. Asked only after ``load()`` has confirmed that there is none.
  @concurrent func store(_ key: Secret) async throws(VaultTrouble)
}

/// A vault's key that a ``VaultKeyStore`` keeps. It is asked for once, and then known for as long as this object lives.
public final class KeptKey: Sendable {
  private let store: any VaultKeyStore
  private let known = Locked<SealingKey?>(nil)
  private let listeners = ChangeListeners()

  public init(in store: any VaultKeyStore) { self.store = store }

  /// Asks the store now. Vaults do so by themselves; call it when the store was unlocked, so that they look again.
  ///
  /// - Throws: what ``VaultKeyStore/load()`` throws.
  @concurrent public func find() async throws(VaultTrouble) {
    guard key == nil else { return }
    if let key = try await stored() { use(key) }
  }

  /// Forgets the key: it is asked for again before a vault is used.
  public func forget() { known.withLock { $0 = nil } }

  /// Nothing until it was found.
  var key: SealingKey? { known.withLock { $0 } }

  var changes: AsyncStream<Void> { listeners.stream() }

  /// Draws one and has it stored, unless there is one. Whoever asks holds the lock of the vaults.
  func make() async throws(VaultTrouble) {
    if let key = try await stored() { return use(key) }
    var random = SystemRandomNumberGenerator()
    let new = Secret(bytes: (0..<SealingKey.byteCount).map { _ in UInt8.random(in: .min ... .max, using: &random) })
    try await store.store(new)
    // What the store hands out counts, not what it was given.
    guard let key = try await stored() else { throw .unavailable("the key store does not keep what it is given") }
    use(key)
  }

  private func stored() async throws(VaultTrouble) -> SealingKey? {
    guard let secret = try await store.load() else { return nil }
    guard let key = secret.withExposedBytes(SealingKey.init) else {
      throw .unavailable("the key in the key store has fewer than \(SealingKey.byteCount) bytes")
    }
    return key
  }

  private func use(_ key: SealingKey) {
    known.withLock { $0 = key }
    listeners.signal()
  }
}

extension KeptKey: Hashable {
  public static func == (one: KeptKey, other: KeptKey) -> Bool { one === other }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
