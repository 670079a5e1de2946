public import HandstampCore
public import HandstampVaults

/// A vault's key in the desktop's secret store: the Secret Service of freedesktop.org, which gnome-keyring, KWallet and
/// KeePassXC speak, by libsecret.
///
/// ```swift
/// let key = KeptKey(in: SecretServiceKey(name: "org.example.forum"))
/// let vault = SealedFileVault(folder: folder, account: account, key: .kept(key))
/// ```
/// The store keeps one small key, and the sealed file what changes with every refresh: a file can be replaced in one durable
/// step, and an item of a secret store cannot.
///
/// - A locked store is ``VaultTrouble/locked``, never an absent key. Nothing here asks for a password but ``unlock()``.
/// - Every call has a deadline, also while a prompt that nobody answers is open; then the store is
///   ``VaultTrouble/unavailable(_:)``, as it is without a session bus.
/// - An item counts by exactly its attributes, when it is read and when it is removed. Attributes are no secret.
/// - Every program of the same user can read the key while the store is unlocked: it protects a disk, and a locked session,
///   not one program from another.
public struct SecretServiceKey: VaultKeyStore, Hashable {
  /// What the item is known by, such as a program's name. One name for one folder of vaults.
  public let name: String
  /// The longest that a call takes. Default 3 s.
  public let deadline: Duration

  public init(name: String, deadline: Duration = .seconds(3)) {
    self.name = name
    self.deadline = deadline
  }

  @concurrent public func load() async throws(VaultTrouble) -> Secret? {
    try await ask { service throws(VaultTrouble) in
      try service.withItems(named: name) { items throws(VaultTrouble) in
        var found: Secret?
        for item in items {
          let secret = try service.secret(of: item)
          guard found == nil || found == secret else {
            throw .unavailable("the secret store holds several keys named \(name)")
          }
          found = secret
        }
        return found
      }
    }
  }

  /// Into the default collection.
  @concurrent public func store(_ key: Secret) async throws(VaultTrouble) {
    try await ask { service throws(VaultTrouble) in try service.store(key, named: name) }
  }

  /// Removes the key from every collection. Whoever still has vaults that were sealed with it has lost them.
  ///
  /// - Throws: ``VaultTrouble/locked`` when one of the collections is.
  @concurrent public func remove() async throws(VaultTrouble) {
    try await ask { service throws(VaultTrouble) in
      try service.withItems(named: name) { items throws(VaultTrouble) in
        for item in items { try service.remove(item) }
      }
    }
  }

  /// Whether the default collection is locked; nothing when there is none.
  @concurrent public func isLocked() async throws(VaultTrouble) -> Bool? {
    try await ask { service throws(VaultTrouble) in try service.isLocked() }
  }

  /// Locks the default collection, for all programs.
  @concurrent public func lock() async throws(VaultTrouble) {
    try await ask { service throws(VaultTrouble) in try service.setLocked(true) }
  }

  /// Unlocks the default collection; the store may ask the person for their password.
  ///
  /// - Parameter limit: how long they may take.
  /// - Throws: ``VaultTrouble/locked`` when they declined, or nobody could be asked.
  @concurrent public func unlock(within limit: Duration = .seconds(60)) async throws(VaultTrouble) {
    try await ask(within: limit) { service throws(VaultTrouble) in try service.setLocked(false) }
  }

  private func ask<Answer: Sendable>(
    within limit: Duration? = nil,
    _ body: @escaping @Sendable (SecretServiceConnection) throws(VaultTrouble) -> Answer
  ) async throws(VaultTrouble) -> Answer {
    let library = try SecretLibrary()
    return try await withDeadline(limit ?? deadline, library) { cancellable throws(VaultTrouble) in
      try body(try SecretServiceConnection(library, cancellable))
    }
  }
}
