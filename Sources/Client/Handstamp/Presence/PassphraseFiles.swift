import HandstampCore
import HandstampSupport

/// The file of a key sealed with a passphrase. It changes under the lock of the vaults; it is read at once, under any lock or none.
struct PassphraseFiles: Sendable {
  static let name = "passphrase.key"
  private static let new = "passphrase.key-new"

  let folder: PosixFile

  /// Returns the header, or `nil` if no passphrase has been set.
  func load() throws(PassphraseError) -> PassphraseFormat.Header? {
    let file = try stored { () throws(VaultError) -> [UInt8]? in
      guard let file = try folder.open(PassphraseFiles.name, flags: O_RDONLY) else { return nil }
      guard try file.status().mode & 0o077 == 0 else {
        throw .permissions("other users can access the passphrase file: its mode should be 0600")
      }
      return try file.readAll(limit: PassphraseFormat.sizeLimit)
    }
    guard let file else { return nil }
    return try PassphraseFormat.Header(file)
  }

  /// Returns the key of the existing vaults, or a new key if there are no vaults yet.
  func keyToSeal() throws(PassphraseError) -> Secret {
    let key = try stored { () throws(VaultError) -> Secret? in
      if let key = try VaultKeyFile(beside: folder).loadSecret() { return key }
      if try VaultFiles.needKey(folder.names()) { return nil }
      var bytes = randomBytes(SealingKey.byteCount)
      defer { wipe(&bytes) }
      return Secret(bytes: bytes)
    }
    guard let key else { throw .otherKey }
    return key
  }

  /// Seals `key`. The passphrase opens the result.
  static func seal(
    _ key: Secret, _ passphrase: Secret, cost: PassphraseCost, stretch: @escaping PassphraseStretch
  ) async throws(PassphraseError) -> PassphraseFormat.Header {
    try await onOwnThread { () throws(PassphraseError) in
      try PassphraseText.withBytes(of: passphrase) { text throws(PassphraseError) in
        var bytes = key.withExposedBytes { Array($0) }
        defer { wipe(&bytes) }
        let sealed = try PassphraseFormat.Header(
          PassphraseFormat.seal(bytes, with: text, cost: cost, stretch: stretch))
        guard try PassphraseFormat.open(sealed, with: text, stretch: stretch) == key else { throw .damaged }
        return sealed
      }
    }
  }

  /// Creates the file, durably. Returns `false` if there is one.
  func add(_ sealed: PassphraseFormat.Header) throws(PassphraseError) -> Bool {
    try stored { () throws(VaultError) in
      let isNew = try folder.add(
        PassphraseFiles.name, with: sealed.file, partial: VaultFiles.newPartial(), content: "the sealed key")
      try folder.sync(attempt: "syncing the vault's folder")
      return isNew
    }
  }

  /// Replaces the file atomically by one that holds the same key. It is durable on return.
  func replace(
    by sealed: PassphraseFormat.Header, under lock: borrowing VaultsLock
  ) throws(PassphraseError) {
    try stored { () throws(VaultError) in
      // A fixed partial name: it is created only under the lock.
      try folder.replace(
        PassphraseFiles.name, with: sealed.file, partial: PassphraseFiles.new, content: "the sealed key")
      try folder.sync(attempt: "syncing the vault's folder")
    }
  }

  /// Removes the sealed key. The removal is durable on return.
  func remove(_ permission: borrowing VaultKeyRemoval) throws(VaultError) {
    try folder.remove(PassphraseFiles.name)
    try folder.sync(attempt: "syncing the vault's folder")
  }

  private func stored<Result>(_ body: () throws(VaultError) -> Result) throws(PassphraseError) -> Result {
    do throws(VaultError) { return try body() } catch { throw .storage(error) }
  }
}
