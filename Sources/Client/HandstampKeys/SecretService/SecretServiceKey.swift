package import Handstamp
public import HandstampCore

/// A vault key in the desktop's secret store, accessed with libsecret: the Secret Service of freedesktop.org, which is
/// implemented by gnome-keyring, KWallet and KeePassXC.
///
/// ```swift
/// let key = ManagedVaultKey(in: SecretServiceKey(name: "org.example.forum"))
/// let vault = SealedFileVault(folder: folder, account: account, key: .managed(by: key))
/// ```
/// The secret store keeps one small key, and the sealed file keeps the data that changes with every refresh: files can
/// be replaced atomically and durably, items of a secret store cannot.
///
/// - A locked store is ``VaultError/locked``, never an absent key. Only ``unlock(within:)`` asks for a password.
/// - Every call has a deadline, even while an unanswered prompt is open; after that the store is
///   ``VaultError/unavailable(_:)``, as it is without a session bus.
/// - Items are read and removed only if their attributes match exactly. Attributes are not secret.
/// - While the store is unlocked, every program of the same user can read the key: it protects the disk and a locked
///   desktop session, but not programs from each other.
public struct SecretServiceKey: VaultKeyStore, Hashable {
  /// The name of the item, such as the program's. Use one name per folder of vaults.
  public let name: String
  /// The time limit of a call. Default 3 s.
  public let deadline: Duration

  public init(name: String, deadline: Duration = .seconds(3)) {
    self.name = name
    self.deadline = deadline
  }

  @concurrent public func load() async throws(VaultError) -> Secret? {
    try await ask { service throws(VaultError) in
      try service.withItems(named: name) { items throws(VaultError) in
        var found: Secret?
        for item in items {
          let secret = try service.secret(of: item)
          guard found == nil || found == secret else {
            throw .wrongKey("the secret store holds several keys named \(name)")
          }
          found = secret
        }
        return found
      }
    }
  }

  /// Stores the key in the default collection.
  @concurrent public func store(_ key: Secret) async throws(VaultError) {
    try await ask { service throws(VaultError) in try service.store(key, named: name) }
  }

  /// Whether the default collection is locked; `nil` if there is none.
  @concurrent public func isLocked() async throws(VaultError) -> Bool? {
    try await ask { service throws(VaultError) in try service.isLocked() }
  }

  /// Locks the default collection, for all programs.
  @concurrent public func lock() async throws(VaultError) {
    try await ask { service throws(VaultError) in try service.setLocked(true) }
  }

  /// Unlocks the default collection; the store may ask the user for a password.
  ///
  /// - Parameter limit: The time limit for the user.
  /// - Throws: ``VaultError/locked`` if the user declines or cannot be asked.
  @concurrent public func unlock(within limit: Duration = .seconds(60)) async throws(VaultError) {
    try await ask(within: limit) { service throws(VaultError) in try service.setLocked(false) }
  }

  private func ask<Answer: Sendable>(
    within limit: Duration? = nil,
    _ body: @escaping @Sendable (SecretServiceConnection) throws(VaultError) -> Answer
  ) async throws(VaultError) -> Answer {
    let library = try SecretLibrary()
    return try await withDeadline(limit ?? deadline, library) { cancellable throws(VaultError) in
      try body(try SecretServiceConnection(library, cancellable))
    }
  }
}

extension SecretServiceKey: VaultKeyCopy {
  /// Removes the key from every collection.
  ///
  /// - Throws: ``VaultError/locked`` if one of the collections is locked.
  @concurrent package func remove(_ permission: borrowing VaultKeyRemoval) async throws(VaultError) {
    try await ask { service throws(VaultError) in
      try service.withItems(named: name) { items throws(VaultError) in
        for item in items { try service.remove(item) }
      }
    }
  }
}
